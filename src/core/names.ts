/** Names: Kubernetes' rules for them (apimachinery, pkg/util/validation), and lists of them in messages. */

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const PATH_SEGMENT = /^(?!\.{1,2}$)[^/%]+$/
const API_VERSION = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?v[a-z0-9]+$/
const KIND = /^[A-Z][A-Za-z0-9]*$/

/** Namespaces and clusters: an RFC 1123 label of at most `max` characters. */
export function labelProblem(name: string, max = 63): string | undefined {
  if (name.length > max) return `must be at most ${max} characters`
  return LABEL.test(name) ? undefined : 'must be lower-case letters, digits and "-", e.g. member-1'
}

/** Object names of most kinds: an RFC 1123 subdomain. */
export function subdomainProblem(name: string): string | undefined {
  if (name.length > 253) return 'must be at most 253 characters'
  return SUBDOMAIN.test(name) ? undefined : 'must be lower-case letters, digits, "-" and ".", e.g. my-app'
}

/** Names of any kind, the loosest rule: RBAC names such as `system:reader` are only kept from being paths. */
export function pathSegmentProblem(name: string): string | undefined {
  if (name.length > 253) return 'must be at most 253 characters'
  return PATH_SEGMENT.test(name) ? undefined : 'must not be "." or ".." and must not contain "/" or "%"'
}

export function apiVersionProblem(apiVersion: string): string | undefined {
  return API_VERSION.test(apiVersion) ? undefined : 'must be group/version, or v1 for the core group, e.g. apps/v1'
}

export function kindProblem(kind: string): string | undefined {
  return KIND.test(kind) ? undefined : 'must be a kind in CamelCase, e.g. Deployment'
}

/** The first names of a set, for a message, and how many more there are. */
export function listNames(names: Iterable<string>, most = 10): string {
  const all = [...names]
  const more = all.length > most ? ` and ${all.length - most} more` : ''
  return `${all.slice(0, most).join(', ')}${more}`
}
