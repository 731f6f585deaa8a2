provider "azurerm" {
  features {}

  # Registering resource providers is a right over the whole subscription; docs/setup-azure.md has
  # an administrator do it once.
  resource_provider_registrations = "none"

  # The storage account needs no shared key: Terraform reaches its data by role, too.
  storage_use_azuread = true
}
