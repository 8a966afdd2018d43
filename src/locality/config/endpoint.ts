/** Validates and completes `endpoint`: URLs with their port, and the TLS files. */
import { dirname, resolve } from 'node:path'
import type { FieldError } from '../../core/field-errors.ts'
import type { TlsFiles } from '../http/dispatchers.ts'
import type { GivenSystem } from './schema.ts'

export interface EndpointRules {
  /** The number of servers of a system. With `none`, the system has no server. */
  endpoint: 'one' | 'several' | 'none'
  /** The default URL. */
  defaultUrl?: string
}

/** Completes `endpoint`, and adds its errors to `errors`. */
export function completeEndpoint(
  endpoint: GivenSystem['endpoint'] = {},
  rules: EndpointRules,
  file: string,
  errors: FieldError[],
): { url: string[]; tls: TlsFiles } {
  const { caFile, certFile, keyFile, insecureSkipVerify = false } = endpoint.tls ?? {}
  if (Boolean(certFile) !== Boolean(keyFile)) {
    const path = `endpoint.tls.${certFile ? 'keyFile' : 'certFile'}`
    errors.push({ path, code: 'Required', message: 'is required: a certificate and its key belong together' })
  }
  const absolute = (name: string) => resolve(dirname(file), name)
  return {
    url: completeUrls(endpoint, rules, errors),
    tls: {
      insecureSkipVerify,
      ...(caFile && { caFile: absolute(caFile) }),
      ...(certFile && { certFile: absolute(certFile) }),
      ...(keyFile && { keyFile: absolute(keyFile) }),
    },
  }
}

function completeUrls(
  { url, urls = [], port }: NonNullable<GivenSystem['endpoint']>,
  rules: EndpointRules,
  errors: FieldError[],
): string[] {
  const add = (path: string, message: string) => errors.push({ path, code: 'Invalid', message })
  if (urls.length > 0 && rules.endpoint !== 'several')
    add('endpoint.urls', 'is not allowed for this system; set endpoint.url')
  const given: [string, string][] = [
    ...(url ? [['endpoint.url', url] as [string, string]] : []),
    ...urls.map((one, i): [string, string] => [`endpoint.urls[${i}]`, one]),
  ]
  if (given.length === 0 && rules.defaultUrl !== undefined) return [rules.defaultUrl]
  if (given.length === 0 && rules.endpoint !== 'none') {
    errors.push({ path: 'endpoint.url', code: 'Required', message: 'is required, e.g. https://catalog.example.com' })
  }
  return given.map(([path, text]) => {
    const problem = urlProblem(text, path)
    if (problem === undefined) return withPort(text, port)
    add(path, problem)
    return text
  })
}

/** Returns the problem of a URL. The message does not contain the URL, which may have a password. */
function urlProblem(text: string, path: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be a URL such as https://catalog.example.com'
  if (url.username !== '' || url.password !== '') return 'must not have credentials; set endpoint.auth'
  if (url.search !== '' || url.hash !== '')
    return `must end with the path, without "?" and "#", e.g. ${path}: ${url.origin}`
  return undefined
}

/** Adds the port, unless the URL has one. */
function withPort(text: string, port: number | undefined): string {
  const url = new URL(text)
  const hasPort = /^https?:\/\/[^/]*:\d+(?:\/|$)/i.test(text)
  if (port && !hasPort) url.port = String(port)
  return url.href.replace(/\/+$/, '')
}
