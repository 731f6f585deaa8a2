# Runs without Azure: the provider is mocked, its schema is not. ci.yml runs it on GitHub.

mock_provider "azurerm" {
  override_during = plan

  mock_resource "azurerm_machine_learning_workspace" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train/providers/Microsoft.MachineLearningServices/workspaces/mlw-test"
    }
  }

  mock_resource "azurerm_user_assigned_identity" {
    defaults = {
      id           = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train/providers/Microsoft.ManagedIdentity/userAssignedIdentities/mock"
      principal_id = "00000000-0000-0000-0000-000000000002"
      client_id    = "00000000-0000-0000-0000-000000000003"
      tenant_id    = "00000000-0000-0000-0000-000000000004"
    }
  }
}

variables {
  workspace_name          = "mlw-test"
  resource_group_name     = "rg-train"
  location                = "westeurope"
  application_insights_id = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train/providers/Microsoft.Insights/components/appi"
  key_vault_id            = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train/providers/Microsoft.KeyVault/vaults/kv-workspace"
  storage_account_id      = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train/providers/Microsoft.Storage/storageAccounts/sttrain"
  container_registry_id   = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train/providers/Microsoft.ContainerRegistry/registries/crtrain"
  github_repository       = "contoso/training"
  github_owner_id         = "5544123"
  github_repository_id    = "821093847"

  trust_groups = {
    vision = { secrets_key_vault_id = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train/providers/Microsoft.KeyVault/vaults/kv-vision" }
    speech = {}
  }

  clusters = {
    gpu-cluster = { size = "Standard_ND96isr_H100_v5", max_nodes = 2, trust_group = "vision" }
    gpu-spot    = { size = "Standard_NC24ads_A100_v4", max_nodes = 4, trust_group = "speech", priority = "low_priority", node_to_node = false }
  }
}

run "clusters_idle_at_zero" {
  command = plan

  assert {
    condition     = alltrue([for cluster in azurerm_machine_learning_compute_cluster.this : cluster.scale_settings[0].min_node_count == 0])
    error_message = "a cluster must idle at zero nodes"
  }

  assert {
    condition     = alltrue([for cluster in azurerm_machine_learning_compute_cluster.this : cluster.scale_settings[0].scale_down_nodes_after_idle_duration == "PT5M"])
    error_message = "a cluster must scale down after five idle minutes"
  }

  assert {
    condition     = alltrue([for cluster in azurerm_machine_learning_compute_cluster.this : !cluster.local_auth_enabled && !cluster.ssh_public_access_enabled])
    error_message = "nobody signs in to a node"
  }

  assert {
    condition     = azurerm_machine_learning_compute_cluster.this["gpu-spot"].vm_priority == "LowPriority"
    error_message = "low_priority must become Azure's LowPriority"
  }
}

run "each_environment_has_its_identity_in_both_subject_forms" {
  command = plan

  assert {
    condition = toset([for credential in azurerm_federated_identity_credential.submitter : credential.subject]) == toset([
      "repo:contoso/training:environment:azureml",
      "repo:contoso@5544123/training@821093847:environment:azureml",
    ])
    error_message = "the submitter must trust the environment azureml of one repository, by name and by number"
  }

  assert {
    condition = toset([for credential in azurerm_federated_identity_credential.reader : credential.subject]) == toset([
      "repo:contoso/training:environment:azureml-read",
      "repo:contoso@5544123/training@821093847:environment:azureml-read",
    ])
    error_message = "the reader must trust the environment azureml-read of one repository, by name and by number"
  }
}

run "only_the_given_vault_is_readable" {
  command = plan

  assert {
    condition     = keys(azurerm_role_assignment.trust_group_secrets) == ["vision"]
    error_message = "a group without a vault must get no role on any"
  }

  assert {
    condition     = endswith(azurerm_role_assignment.trust_group_secrets["vision"].scope, "/vaults/kv-vision")
    error_message = "a group's role must be on its own vault"
  }
}

run "the_fragment_describes_what_was_made" {
  command = plan

  assert {
    condition     = output.cluster_name == "gpu-cluster" && output.cluster_names == tolist(["gpu-cluster", "gpu-spot"])
    error_message = "clusters are named in alphabetical order"
  }

  assert {
    condition = yamldecode(output.platform_yml) == {
      backend = "azureml"
      azure = {
        subscription_id     = "00000000-0000-0000-0000-000000000001"
        resource_group      = "rg-train"
        workspace           = "mlw-test"
        location            = "westeurope"
        tenant_id           = "00000000-0000-0000-0000-000000000004"
        submitter_client_id = "00000000-0000-0000-0000-000000000003"
        reader_client_id    = "00000000-0000-0000-0000-000000000003"
      }
      targets = {
        gpu-cluster = {
          size         = "Standard_ND96isr_H100_v5"
          min_nodes    = 0
          max_nodes    = 2
          idle_seconds = 300
          priority     = "dedicated"
          node_to_node = true
          secrets      = ["keyvault://kv-vision/*"]
        }
        gpu-spot = {
          size         = "Standard_NC24ads_A100_v4"
          min_nodes    = 0
          max_nodes    = 4
          idle_seconds = 300
          priority     = "low_priority"
          node_to_node = false
          secrets      = []
        }
      }
    }
    error_message = "platform_yml must say what the module made"
  }
}

run "nodes_lose_their_public_address_with_a_private_endpoint" {
  command = plan

  variables {
    public_network_access_enabled = false

    private_endpoint = {
      subnet_id            = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/endpoints"
      private_dns_zone_ids = ["/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-net/providers/Microsoft.Network/privateDnsZones/privatelink.api.azureml.ms"]
    }

    clusters = {
      gpu-cluster = {
        size        = "Standard_ND96isr_H100_v5"
        max_nodes   = 2
        trust_group = "vision"
        subnet_id   = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/train"
      }
    }
  }

  assert {
    condition     = !azurerm_machine_learning_compute_cluster.this["gpu-cluster"].node_public_ip_enabled
    error_message = "nodes behind a private endpoint must have no public address"
  }

  assert {
    condition     = length(azurerm_private_endpoint.workspace) == 1
    error_message = "the workspace must be attached to the given network"
  }
}

run "a_wildcard_repository_is_refused" {
  command = plan

  variables {
    github_repository = "contoso/*"
  }

  expect_failures = [var.github_repository]
}

run "a_wildcard_number_is_refused" {
  command = plan

  variables {
    github_owner_id      = "*"
    github_repository_id = "*"
  }

  expect_failures = [var.github_owner_id, var.github_repository_id]
}

run "an_unknown_trust_group_is_refused" {
  command = plan

  variables {
    trust_groups = { speech = {} }
  }

  expect_failures = [var.clusters]
}

run "the_workspaces_own_vault_is_refused_for_jobs" {
  command = plan

  variables {
    key_vault_id = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-train/providers/Microsoft.KeyVault/vaults/KV-Vision"
  }

  expect_failures = [var.trust_groups]
}

run "half_a_node_is_refused" {
  command = plan

  variables {
    clusters = { gpu-cluster = { size = "Standard_ND96isr_H100_v5", max_nodes = 1.5, trust_group = "vision" } }
  }

  expect_failures = [var.clusters]
}

run "a_closed_workspace_without_an_endpoint_is_refused" {
  command = plan

  variables {
    public_network_access_enabled = false
  }

  expect_failures = [var.public_network_access_enabled]
}

run "an_endpoint_without_a_subnet_for_the_nodes_is_refused" {
  command = plan

  variables {
    private_endpoint = { subnet_id = "subnet", private_dns_zone_ids = [] }
  }

  expect_failures = [var.private_endpoint]
}
