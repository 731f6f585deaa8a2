variable "workspace_name" {
  description = "Name of the Azure ML workspace; also the prefix of every identity the module makes."
  type        = string

  validation {
    condition     = can(regex("^[a-zA-Z0-9][a-zA-Z0-9_-]{2,32}$", var.workspace_name))
    error_message = "workspace_name must have 3 to 33 letters, digits, - or _, and start with a letter or digit."
  }
}

variable "resource_group_name" {
  description = "Existing resource group that everything the module makes goes into."
  type        = string

  validation {
    condition     = can(regex("^[a-zA-Z0-9_().-]{1,89}[a-zA-Z0-9_()-]$|^[a-zA-Z0-9_()-]$", var.resource_group_name))
    error_message = "resource_group_name must be the name of a resource group, not its resource ID."
  }
}

variable "location" {
  description = "Azure region of the workspace and its clusters, in its short form, such as westeurope."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9]+$", var.location))
    error_message = "location must be the region's short form, such as westeurope: az account list-locations prints it."
  }
}

variable "application_insights_id" {
  description = "Resource ID of the existing Application Insights component; the workspace requires one."
  type        = string

  validation {
    condition     = can(regex("(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\\.Insights/components/[^/]+$", var.application_insights_id))
    error_message = "application_insights_id must be the full resource ID of an Application Insights component."
  }
}

variable "key_vault_id" {
  description = "Resource ID of the existing key vault for the workspace's own use, in RBAC mode; no job reads it."
  type        = string

  validation {
    condition     = can(regex("(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\\.KeyVault/vaults/[^/]+$", var.key_vault_id))
    error_message = "key_vault_id must be the full resource ID of a key vault."
  }
}

variable "storage_account_id" {
  description = "Resource ID of the existing storage account; neither Premium nor with a hierarchical namespace."
  type        = string

  validation {
    condition     = can(regex("(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\\.Storage/storageAccounts/[^/]+$", var.storage_account_id))
    error_message = "storage_account_id must be the full resource ID of a storage account."
  }
}

variable "container_registry_id" {
  description = "Resource ID of the existing container registry that holds the training images; its admin user may stay off."
  type        = string

  validation {
    condition     = can(regex("(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\\.ContainerRegistry/registries/[^/]+$", var.container_registry_id))
    error_message = "container_registry_id must be the full resource ID of a container registry."
  }
}

variable "public_network_access_enabled" {
  description = "Whether the workspace answers on the public internet. GitHub-hosted runners need it; self-hosted runners in the network do not."
  type        = bool
  default     = true

  validation {
    condition     = var.public_network_access_enabled || var.private_endpoint != null
    error_message = "Without public access nobody reaches the workspace: set private_endpoint, or leave public_network_access_enabled true."
  }
}

variable "private_endpoint" {
  description = "Where to attach the workspace to a given network: a subnet and the two Azure ML private DNS zones. Null for none. With it, cluster nodes get no public address."
  type = object({
    subnet_id            = string
    private_dns_zone_ids = list(string)
  })
  default = null

  validation {
    condition     = var.private_endpoint == null || alltrue([for cluster in values(var.clusters) : cluster.subnet_id != null])
    error_message = "Nodes without a public address need a network: give every cluster a subnet_id, or set private_endpoint to null."
  }
}

variable "trust_groups" {
  description = "Groups of clusters whose jobs may see the same secrets, by name. Each gets an identity of its own, which may read the secrets of the given vault and of no other."
  type = map(object({
    secrets_key_vault_id = optional(string)
  }))

  validation {
    condition     = alltrue([for name in keys(var.trust_groups) : can(regex("^[a-z][a-z0-9-]{0,23}$", name)) && !startswith(name, "github-")])
    error_message = "A trust group's name has 1 to 24 lower-case letters, digits or -, starts with a letter and not with github-."
  }

  validation {
    condition     = alltrue([for group in values(var.trust_groups) : can(regex("(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\\.KeyVault/vaults/[^/]+$", group.secrets_key_vault_id)) if group.secrets_key_vault_id != null])
    error_message = "secrets_key_vault_id must be the full resource ID of a key vault, or null."
  }

  validation {
    condition     = alltrue([for group in values(var.trust_groups) : lower(group.secrets_key_vault_id) != lower(var.key_vault_id) if group.secrets_key_vault_id != null])
    error_message = "The workspace keeps its own secrets in key_vault_id: give a trust group another vault."
  }
}

variable "clusters" {
  description = "GPU clusters by name. node_to_node says whether the given network lets nodes of the cluster reach each other; the gate refuses jobs of several nodes where it does not."
  type = map(object({
    size         = string
    max_nodes    = number
    trust_group  = string
    priority     = optional(string, "dedicated")
    subnet_id    = optional(string)
    node_to_node = optional(bool, true)
  }))

  validation {
    condition     = length(var.clusters) > 0
    error_message = "Give at least one cluster: the workspace alone trains nothing."
  }

  validation {
    condition     = alltrue([for name in keys(var.clusters) : can(regex("^[a-zA-Z][a-zA-Z0-9-]{1,22}[a-zA-Z0-9]$", name)) && !contains(["yes", "off", "true", "false", "null"], lower(name))])
    error_message = "A cluster's name has 3 to 24 letters, digits or -, starts with a letter, does not end with - and is no word that YAML reads as a value."
  }

  validation {
    condition     = alltrue([for cluster in values(var.clusters) : can(regex("^Standard_[A-Za-z0-9_-]+$", cluster.size))])
    error_message = "size must be the full name of a VM size, such as Standard_ND96isr_H100_v5."
  }

  validation {
    condition     = alltrue([for cluster in values(var.clusters) : cluster.max_nodes >= 1 && floor(cluster.max_nodes) == cluster.max_nodes])
    error_message = "max_nodes must be a whole number of at least 1. It counts against the quota even while no node runs."
  }

  validation {
    condition     = alltrue([for cluster in values(var.clusters) : contains(["dedicated", "low_priority"], cluster.priority)])
    error_message = "priority must be dedicated or low_priority."
  }

  validation {
    condition     = alltrue([for cluster in values(var.clusters) : contains(keys(var.trust_groups), cluster.trust_group)])
    error_message = "trust_group must name one of trust_groups: add the group, or correct the name."
  }

  validation {
    condition     = alltrue([for cluster in values(var.clusters) : can(regex("(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\\.Network/virtualNetworks/[^/]+/subnets/[^/]+$", cluster.subnet_id)) if cluster.subnet_id != null])
    error_message = "subnet_id must be the full resource ID of a subnet, or null."
  }
}

variable "github_repository" {
  description = "The one repository whose workflows may sign in, as OWNER/NAME in GitHub's own spelling: the match is case-sensitive."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9-]+/[A-Za-z0-9_.-]+$", var.github_repository))
    error_message = "github_repository must be OWNER/NAME, without wildcards."
  }
}

variable "github_owner_id" {
  description = "GitHub's number for the owner; gh api repos/OWNER/NAME --jq .owner.id prints it."
  type        = string

  validation {
    condition     = can(regex("^[1-9][0-9]*$", var.github_owner_id))
    error_message = "github_owner_id must be a number: gh api repos/OWNER/NAME --jq .owner.id prints it."
  }
}

variable "github_repository_id" {
  description = "GitHub's number for the repository; gh api repos/OWNER/NAME --jq .id prints it."
  type        = string

  validation {
    condition     = can(regex("^[1-9][0-9]*$", var.github_repository_id))
    error_message = "github_repository_id must be a number: gh api repos/OWNER/NAME --jq .id prints it."
  }
}

variable "tags" {
  description = "Tags for every resource of the module."
  type        = map(string)
  default     = {}
}
