/** The rules of Kubernetes for names (apimachinery, pkg/util/validation), and lists of names for messages. */

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
/** As text for JSON Schemas, in the syntax of Go too. */
export const SUBDOMAIN_PATTERN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'
const SUBDOMAIN = new RegExp(`^${SUBDOMAIN_PATTERN}$`)
const LABEL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/
const PATH_SEGMENT = /^(?!\.{1,2}$)[^/%]+$/
const API_VERSION = new RegExp(`^(${SUBDOMAIN_PATTERN}/)?v[a-z0-9]+$`)
export const KIND = /^[A-Z][A-Za-z0-9]*$/

/** Checks a namespace or cluster name: an RFC 1123 label of at most `max` characters. */
export function labelProblem(name: string, max = 63): string | undefined {
  if (name.length > max) return `must be at most ${max} characters`
  return LABEL.test(name) ? undefined : 'must be lower-case letters, digits and "-", e.g. member-1'
}

/** Checks an object name of most kinds: an RFC 1123 subdomain. */
export function subdomainProblem(name: string): string | undefined {
  if (name.length > 253) return 'must be at most 253 characters'
  return SUBDOMAIN.test(name) ? undefined : 'must be lower-case letters, digits, "-" and ".", e.g. my-app'
}

/** Whether a text can be the key of a label: a name, or a DNS subdomain, a slash and a name. */
export function isLabelKey(key: string): boolean {
  const [name = '', prefix, ...rest] = key.split('/').reverse()
  const isPrefixed = prefix === undefined || (prefix.length <= 253 && SUBDOMAIN.test(prefix))
  return rest.length === 0 && isPrefixed && name.length <= 63 && LABEL_NAME.test(name)
}

/** Whether a text can be the value of a label. */
export function isLabelValue(value: string): boolean {
  return value === '' || (value.length <= 63 && LABEL_NAME.test(value))
}

/** Checks an object name of any kind. RBAC names such as `system:reader` are valid; only names that change a URL path are rejected. */
export function pathSegmentProblem(name: string): string | undefined {
  if (name.length > 253) return 'must be at most 253 characters'
  return PATH_SEGMENT.test(name) ? undefined : 'must not be "." or ".." and must not contain "/" or "%"'
}

/** Returns why a text is no apiVersion; undefined if it is one. */
export function apiVersionProblem(apiVersion: string): string | undefined {
  return API_VERSION.test(apiVersion) ? undefined : 'must be group/version, or v1 for the core group, e.g. apps/v1'
}

/** Returns why a text is no kind; undefined if it is one. */
export function kindProblem(kind: string): string | undefined {
  return KIND.test(kind) ? undefined : 'must be a kind in CamelCase, e.g. Deployment'
}

/**
 * Lists the first names of a set for a message, and the number of the others. In ASCII, since V8 keeps a text with any other character in twice
 * the memory, and a hub has a message for each workload.
 */
export function listNames(names: Iterable<string>, most = 10): string {
  const all: readonly string[] = Array.isArray(names) ? names : [...names]
  const more = all.length > most ? ` and ${all.length - most} more` : ''
  return `${all.slice(0, most).join(', ')}${more}`
}
