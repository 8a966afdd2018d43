/** Validates and completes `endpoint`: URLs with their port, and the TLS files. */
import { resolve } from 'node:path'
import type { FieldError } from '../../base/field-errors.ts'
import { defined } from '../../base/json.ts'
import { withoutTrailingSlashes } from '../../base/net/url-encoding.ts'
import type { TlsFiles } from '../http/dispatchers.ts'
import type { GivenSystem } from './schema.ts'

export interface EndpointRules {
  /** The number of servers of a system. With `none`, the system has no server. */
  endpoint: 'one' | 'several' | 'none'
  /** The default URL. */
  defaultUrl?: string
  /** The protocol of the URLs. Default: http, with or without TLS. */
  protocol?: keyof typeof PROTOCOLS
}

const PROTOCOLS = {
  http: { scheme: /^https?:$/, example: 'https://catalog.example.com', defaultPort: 0, hasPath: true },
  thrift: { scheme: /^thrift:$/, example: 'thrift://metastore.example.com:9083', defaultPort: 9083, hasPath: false },
} as const

/** Completes `endpoint`, and adds its errors to `errors`. */
export function completeEndpoint(
  endpoint: GivenSystem['endpoint'] = {},
  rules: EndpointRules,
  folder: string,
  errors: FieldError[],
): { url: string[]; tls: TlsFiles; usesTls: boolean } {
  const { caFile, certFile, keyFile, insecureSkipVerify = false, enabled } = endpoint.tls ?? {}
  const hasTlsFields = Boolean(caFile || certFile || insecureSkipVerify)
  if (rules.protocol === 'thrift' && enabled === false && hasTlsFields) {
    const message = 'must be true, or the other fields of endpoint.tls must be removed'
    errors.push({ path: 'endpoint.tls.enabled', code: 'Invalid', message })
  }
  if (Boolean(certFile) !== Boolean(keyFile)) {
    const path = `endpoint.tls.${certFile ? 'keyFile' : 'certFile'}`
    errors.push({ path, code: 'Required', message: 'is required: a certificate and its key belong together' })
  }
  const absolute = (name: string) => resolve(folder, name)
  return {
    url: completeUrls(endpoint, rules, errors),
    usesTls: enabled ?? hasTlsFields,
    tls: defined({
      insecureSkipVerify,
      caFile: caFile ? absolute(caFile) : undefined,
      certFile: certFile ? absolute(certFile) : undefined,
      keyFile: keyFile ? absolute(keyFile) : undefined,
    }),
  }
}

function completeUrls(
  { url, urls = [], port }: NonNullable<GivenSystem['endpoint']>,
  rules: EndpointRules,
  errors: FieldError[],
): string[] {
  const { example, defaultPort } = PROTOCOLS[rules.protocol ?? 'http']
  const add = (path: string, message: string) => errors.push({ path, code: 'Invalid', message })
  if (urls.length > 0 && rules.endpoint !== 'several')
    add('endpoint.urls', 'is not allowed for this system; set endpoint.url')
  const given: [string, string][] = [
    ...(url ? [['endpoint.url', url] as [string, string]] : []),
    ...urls.map((one, i): [string, string] => [`endpoint.urls[${i}]`, one]),
  ]
  if (given.length === 0 && rules.defaultUrl !== undefined) return [rules.defaultUrl]
  if (given.length === 0 && rules.endpoint !== 'none') {
    errors.push({ path: 'endpoint.url', code: 'Required', message: `is required, e.g. ${example}` })
  }
  return given.map(([path, text]) => {
    const problem = urlProblem(text, path, rules)
    if (problem === undefined) return withPort(text, port || defaultPort)
    add(path, problem)
    return text
  })
}

/** Returns the problem of a URL. The message does not contain the URL, which may have a password. */
function urlProblem(text: string, path: string, rules: EndpointRules): string | undefined {
  const { scheme, example, hasPath } = PROTOCOLS[rules.protocol ?? 'http']
  const url = URL.parse(text)
  if (url === null || !scheme.test(url.protocol) || url.hostname === '') return `must be a URL such as ${example}`
  if (url.username !== '' || url.password !== '') return 'must not have credentials; set endpoint.auth'
  if (url.search !== '' || url.hash !== '')
    return `must end with the path, without "?" and "#", e.g. ${path}: ${url.protocol}//${url.host}`
  if (!hasPath && !/^\/?$/.test(url.pathname)) return `must end with the port, e.g. ${example}`
  return undefined
}

/** Adds the port, unless the URL has one. */
function withPort(text: string, port: number): string {
  const url = new URL(text)
  const hasPort = /^[a-z]+:\/\/[^/]*:\d+(?:\/|$)/i.test(text)
  if (port > 0 && !hasPort) url.port = String(port)
  return withoutTrailingSlashes(url.href)
}
