locals {
  # /subscriptions/SUBSCRIPTION/resourceGroups/...
  subscription_id = split("/", azurerm_machine_learning_workspace.this.id)[2]

  # Read back from the clusters, so that the gate believes what was made and not what was asked for.
  targets = {
    for name, cluster in azurerm_machine_learning_compute_cluster.this : name => join(", ", [
      "size: ${cluster.vm_size}",
      "min_nodes: ${cluster.scale_settings[0].min_node_count}",
      "max_nodes: ${cluster.scale_settings[0].max_node_count}",
      "idle_seconds: ${60 * regex("^PT([0-9]+)M$", cluster.scale_settings[0].scale_down_nodes_after_idle_duration)[0]}",
      "priority: ${local.priorities[cluster.vm_priority]}",
      "node_to_node: ${var.clusters[name].node_to_node}",
      "secrets: ${jsonencode(local.secrets[var.clusters[name].trust_group])}",
    ])
  }

  priorities = { for ours, azure in local.vm_priorities : azure => ours }

  secrets = {
    for group, given in var.trust_groups : group => given.secrets_key_vault_id == null ? [] : ["keyvault://${element(split("/", given.secrets_key_vault_id), 8)}/*"]
  }
}

output "workspace_name" {
  description = "Name of the workspace."
  value       = azurerm_machine_learning_workspace.this.name
}

output "workspace_id" {
  description = "Resource ID of the workspace."
  value       = azurerm_machine_learning_workspace.this.id
}

output "cluster_name" {
  description = "Name of the first cluster in alphabetical order."
  value       = sort(keys(azurerm_machine_learning_compute_cluster.this))[0]
}

output "cluster_names" {
  description = "Names of all clusters in alphabetical order."
  value       = sort(keys(azurerm_machine_learning_compute_cluster.this))
}

output "submitter_client_id" {
  description = "Client ID of the identity that GitHub's environment azureml signs in as."
  value       = azurerm_user_assigned_identity.submitter.client_id
}

output "reader_client_id" {
  description = "Client ID of the identity that GitHub's environment azureml-read signs in as."
  value       = azurerm_user_assigned_identity.reader.client_id
}

output "trust_group_client_ids" {
  description = "Client ID of the identity that the jobs of each trust group run as."
  value       = { for group, identity in azurerm_user_assigned_identity.trust_group : group => identity.client_id }
}

output "platform_yml" {
  description = "The part of platform.yml that describes this platform: paste it in place of what is there."
  value = join("\n", concat(
    [
      "backend: azureml",
      "azure:",
      "  subscription_id: ${jsonencode(local.subscription_id)}",
      "  resource_group: ${jsonencode(var.resource_group_name)}",
      "  workspace: ${jsonencode(azurerm_machine_learning_workspace.this.name)}",
      "  location: ${jsonencode(azurerm_machine_learning_workspace.this.location)}",
      "  tenant_id: ${jsonencode(azurerm_user_assigned_identity.submitter.tenant_id)}",
      "  submitter_client_id: ${jsonencode(azurerm_user_assigned_identity.submitter.client_id)}",
      "  reader_client_id: ${jsonencode(azurerm_user_assigned_identity.reader.client_id)}",
      "targets:",
    ],
    [for name in sort(keys(local.targets)) : "  ${name}: {${local.targets[name]}}"],
    [""],
  ))
}
