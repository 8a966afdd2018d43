/** The versions of Kubernetes and Karmada with which the end-to-end tests ran. */

export interface SupportedVersions {
  readonly kubernetes: readonly string[]
  readonly karmada: readonly string[]
}

/** Minor versions, oldest first. */
export const SUPPORTED_VERSIONS: SupportedVersions = { kubernetes: ['1.35'], karmada: ['1.18'] }
