module "aml" {
  source = "./modules/aml"
}
