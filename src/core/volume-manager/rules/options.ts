/** Parses the options of a volume, which are all strings. The result is undefined for an invalid value. */
import { parseJson } from '../../../base/json.ts'

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True']
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False']

/** A boolean, as Go's strconv.ParseBool parses it. */
export function parseBoolean(text: string): boolean | undefined {
  if (TRUE.includes(text)) return true
  return FALSE.includes(text) ? false : undefined
}

/** The most globs of the option `exclude`. */
export const MAX_GLOBS = 100

/** One glob, or a JSON list of globs; an empty text is no glob. Undefined for a list with other values or with too many globs. */
export function parseGlobs(text: string): string[] | undefined {
  if (!text.startsWith('[')) return text === '' ? [] : [text]
  const value = parseJson(text)
  if (!Array.isArray(value) || value.length > MAX_GLOBS) return undefined
  return value.every((glob) => typeof glob === 'string' && glob !== '') ? value : undefined
}

export interface SourceUrl {
  bucket: string
  /** The name of an object, or a prefix of names, which ends in a slash or is empty. */
  key: string
}

const SOURCE_URL = /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/([^/?#@\s]+)(?:\/([^?#]*))?$/

/** Parses `s3://bucket/key`. As in VCK, the host is the bucket for every scheme. */
export function parseSourceUrl(text: string): SourceUrl | undefined {
  const [, bucket, key = ''] = SOURCE_URL.exec(text) ?? []
  return bucket === undefined ? undefined : { bucket, key }
}

const ENDPOINT =
  /^https?:\/\/[a-zA-Z0-9.-]+(:\d{1,5})?(\/[^?#\s]*)?$|^https?:\/\/\[[0-9a-fA-F:.]+\](:\d{1,5})?(\/[^?#\s]*)?$/

/** Whether a text is the URL of a server: http or https, a host, and no query. */
export function isEndpoint(text: string): boolean {
  return ENDPOINT.test(text)
}

/** The host of an endpoint, without its port. */
export function endpointHost(endpoint: string): string {
  return /^https?:\/\/(\[[^\]]*\]|[^:/]*)/.exec(endpoint)?.[1] ?? ''
}

/** A Kubernetes quantity that is not negative, for example 5Gi. */
export const QUANTITY = /^\+?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/

const SUFFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** The value of a quantity, rounded up, for example of 5Gi; undefined for any other text. */
export function parseQuantity(text: string): number | undefined {
  const value = quantityAmount(text)
  return value === undefined ? undefined : Math.ceil(value)
}

/** Whether a quantity is at most another one; false for any other text. Less than a billionth of a value does not count. */
export function isAtMost(text: string, most: string): boolean {
  return (quantityAmount(text) ?? Number.NaN) <= (quantityAmount(most) ?? Number.NaN) * (1 + 1e-9)
}

function quantityAmount(text: string): number | undefined {
  const [, number = '', , suffix = ''] = QUANTITY.exec(text) ?? []
  return number === '' ? undefined : Number(number) * (SUFFIXES[suffix] ?? Number(`1${suffix}`))
}

/** Whether a text is a quantity of Kubernetes, such as `10Gi`. */
export function isQuantity(text: string): boolean {
  return QUANTITY.test(text)
}
