terraform {
  # 1.9 is the first version in which a variable's validation may name another variable.
  required_version = ">= 1.9"

  required_providers {
    azurerm = {
      source = "hashicorp/azurerm"
      # 4.77 brought storage_account_access_type; the arguments used here are the same up to 5.10.
      version = ">= 4.77, < 6.0"
    }
  }
}

locals {
  owner      = split("/", var.github_repository)[0]
  repository = split("/", var.github_repository)[1]

  # GitHub signs tokens with one of two subject forms. Which one a repository gets depends on its
  # age and settings, and a credential in the wrong form fails only at sign-in: so both are made.
  subjects = {
    by-name = "repo:${var.github_repository}"
    by-id   = "repo:${local.owner}@${var.github_owner_id}/${local.repository}@${var.github_repository_id}"
  }

  issuer   = "https://token.actions.githubusercontent.com"
  audience = ["api://AzureADTokenExchange"]

  vm_priorities = { dedicated = "Dedicated", low_priority = "LowPriority" }
  secret_vaults = { for group, given in var.trust_groups : group => given.secrets_key_vault_id if given.secrets_key_vault_id != null }
}

resource "azurerm_machine_learning_workspace" "this" {
  name                    = var.workspace_name
  resource_group_name     = var.resource_group_name
  location                = var.location
  application_insights_id = var.application_insights_id
  key_vault_id            = var.key_vault_id
  storage_account_id      = var.storage_account_id
  container_registry_id   = var.container_registry_id

  # With "AccessKey" the workspace hands the storage account's keys to whoever may list its
  # datastores' secrets; with "Identity" every reader and writer needs a role of its own.
  storage_account_access_type = "Identity"

  public_network_access_enabled = var.public_network_access_enabled
  v1_legacy_mode_enabled        = false
  tags                          = var.tags

  identity {
    type = "SystemAssigned"
  }
}

resource "azurerm_private_endpoint" "workspace" {
  count = var.private_endpoint == null ? 0 : 1

  name                = "${var.workspace_name}-workspace"
  resource_group_name = var.resource_group_name
  location            = var.location
  subnet_id           = var.private_endpoint.subnet_id
  tags                = var.tags

  private_service_connection {
    name                           = "${var.workspace_name}-workspace"
    private_connection_resource_id = azurerm_machine_learning_workspace.this.id
    subresource_names              = ["amlworkspace"]
    is_manual_connection           = false
  }

  private_dns_zone_group {
    name                 = "workspace"
    private_dns_zone_ids = var.private_endpoint.private_dns_zone_ids
  }
}

resource "azurerm_machine_learning_compute_cluster" "this" {
  for_each = var.clusters

  name                          = each.key
  location                      = var.location
  machine_learning_workspace_id = azurerm_machine_learning_workspace.this.id
  vm_size                       = each.value.size
  vm_priority                   = local.vm_priorities[each.value.priority]
  subnet_resource_id            = each.value.subnet_id
  ssh_public_access_enabled     = false
  local_auth_enabled            = false
  tags                          = var.tags

  # Azure accepts nodes without a public address only where the workspace has a private endpoint.
  node_public_ip_enabled = var.private_endpoint == null

  scale_settings {
    # Two decisions of the module, not settings: no node is paid for five minutes after its job.
    min_node_count                       = 0
    max_node_count                       = each.value.max_nodes
    scale_down_nodes_after_idle_duration = "PT5M"
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.trust_group[each.value.trust_group].id]
  }

  # A job that starts before its identity may pull the image fails, so the grants come first.
  depends_on = [
    azurerm_private_endpoint.workspace,
    azurerm_role_assignment.trust_group_image,
    azurerm_role_assignment.trust_group_storage,
    azurerm_role_assignment.trust_group_secrets,
  ]
}

# --- What runs on the clusters: one identity a trust group ---------------------------------------

resource "azurerm_user_assigned_identity" "trust_group" {
  for_each = var.trust_groups

  name                = "${var.workspace_name}-${each.key}"
  resource_group_name = var.resource_group_name
  location            = var.location
  tags                = var.tags
}

resource "azurerm_role_assignment" "trust_group_image" {
  for_each = var.trust_groups

  scope                            = var.container_registry_id
  role_definition_name             = "AcrPull"
  principal_id                     = azurerm_user_assigned_identity.trust_group[each.key].principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true
}

resource "azurerm_role_assignment" "trust_group_storage" {
  for_each = var.trust_groups

  scope                            = var.storage_account_id
  role_definition_name             = "Storage Blob Data Contributor"
  principal_id                     = azurerm_user_assigned_identity.trust_group[each.key].principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true
}

resource "azurerm_role_assignment" "trust_group_secrets" {
  for_each = local.secret_vaults

  scope                            = each.value
  role_definition_name             = "Key Vault Secrets User"
  principal_id                     = azurerm_user_assigned_identity.trust_group[each.key].principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true
}

# --- GitHub's submitter: sends jobs after a merge ------------------------------------------------

resource "azurerm_user_assigned_identity" "submitter" {
  name                = "${var.workspace_name}-github-submitter"
  resource_group_name = var.resource_group_name
  location            = var.location
  tags                = var.tags
}

resource "azurerm_federated_identity_credential" "submitter" {
  for_each = local.subjects

  name                      = "github-${each.key}"
  user_assigned_identity_id = azurerm_user_assigned_identity.submitter.id
  issuer                    = local.issuer
  audience                  = local.audience
  subject                   = "${each.value}:environment:azureml"
}

# Not "AzureML Compute Operator", which may change clusters: those are Terraform's alone.
resource "azurerm_role_assignment" "submitter_jobs" {
  scope                            = azurerm_machine_learning_workspace.this.id
  role_definition_name             = "AzureML Data Scientist"
  principal_id                     = azurerm_user_assigned_identity.submitter.principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true
}

# The SDK uploads a job's code with the caller's own rights when datastores go by identity.
resource "azurerm_role_assignment" "submitter_code" {
  scope                            = var.storage_account_id
  role_definition_name             = "Storage Blob Data Contributor"
  principal_id                     = azurerm_user_assigned_identity.submitter.principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true
}

# --- GitHub's reader: reports on runs, changes nothing -------------------------------------------

resource "azurerm_user_assigned_identity" "reader" {
  name                = "${var.workspace_name}-github-reader"
  resource_group_name = var.resource_group_name
  location            = var.location
  tags                = var.tags
}

resource "azurerm_federated_identity_credential" "reader" {
  for_each = local.subjects

  name                      = "github-${each.key}"
  user_assigned_identity_id = azurerm_user_assigned_identity.reader.id
  issuer                    = local.issuer
  audience                  = local.audience
  subject                   = "${each.value}:environment:azureml-read"
}

resource "azurerm_role_assignment" "reader_jobs" {
  scope                            = azurerm_machine_learning_workspace.this.id
  role_definition_name             = "Reader"
  principal_id                     = azurerm_user_assigned_identity.reader.principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true
}

resource "azurerm_role_assignment" "reader_outcomes" {
  scope                            = var.storage_account_id
  role_definition_name             = "Storage Blob Data Reader"
  principal_id                     = azurerm_user_assigned_identity.reader.principal_id
  principal_type                   = "ServicePrincipal"
  skip_service_principal_aad_check = true
}
