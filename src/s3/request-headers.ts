/** Headers that users add to the requests of movers to S3. */
import { isObject, parseJson } from '../base/json.ts'

/** With it, the requester pays for requests and transfer, as buckets with Requester Pays require. */
export const REQUESTER_PAYS = { 'x-amz-request-payer': 'requester' } as const

const MAX_HEADERS = 16
const MAX_VALUE_LENGTH = 1024
/** A token of RFC 9110. */
const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/
/** Printable ASCII: a line break would begin another header. */
const VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/
/** Headers that the mover sets, or that change how a message ends. */
const RESERVED =
  /^(host|authorization|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|range|if-.*|accept-encoding|x-amz-(date|content-.*|security-token|checksum-.*|copy-.*|meta-.*|acl|grant-.*))$/

/** Keys of the customer (SSE-C): a spec is no place for them. */
const SECRET = /^x-amz-server-side-encryption-customer-/

/** Returns why a header cannot be set; undefined if it can. */
export function requestHeaderFault(name: string, value: unknown): string | undefined {
  if (!NAME.test(name)) return 'a name is not the name of a header'
  if (RESERVED.test(name.toLowerCase())) return `${name} is set by the mover`
  if (SECRET.test(name.toLowerCase()))
    return `${name} belongs to a key of the customer (SSE-C), which movers do not support`
  const isValue = typeof value === 'string' && value.length <= MAX_VALUE_LENGTH && VALUE.test(value)
  return isValue ? undefined : `the value of ${name} is not printable ASCII of at most ${MAX_VALUE_LENGTH} characters`
}

/** Reads a JSON object of headers, with the names in lower case. Returns the reason if it is none. */
export function parseRequestHeaders(text: string): { headers: Record<string, string> } | { fault: string } {
  const value = parseJson(text)
  if (!isObject(value)) return { fault: 'it is not a JSON object of texts' }
  const entries = Object.entries(value)
  if (entries.length > MAX_HEADERS) return { fault: `it has more than ${MAX_HEADERS} headers` }
  for (const [name, one] of entries) {
    const fault = requestHeaderFault(name, one)
    if (fault !== undefined) return { fault }
  }
  return { headers: Object.fromEntries(entries.map(([name, one]) => [name.toLowerCase(), String(one)])) }
}
