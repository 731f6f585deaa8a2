terraform {
  # Where the state lies is given at init, so that no name of a company's stands here:
  # terraform init -backend-config=backend.hcl
  backend "azurerm" {
    key              = "traingate.tfstate"
    use_azuread_auth = true
  }
}
