/** The versions of Kubernetes and Karmada with which the end-to-end tests ran, as docs/reference/compatibility.md shows. */

export interface SupportedVersions {
  readonly kubernetes: readonly string[]
  readonly karmada: readonly string[]
}

/** Minor versions, oldest first. */
export const SUPPORTED_VERSIONS: SupportedVersions = {
  kubernetes: ['1.28', '1.31', '1.34', '1.35', '1.37'],
  karmada: ['1.16', '1.17', '1.18'],
}
