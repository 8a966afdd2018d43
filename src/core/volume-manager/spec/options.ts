/** Reads the values of a volume's options, which are all texts: undefined for one that does not say what it should. */

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True']
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False']

/** A yes or no, as Go's strconv.ParseBool reads it. */
export function parseBoolean(text: string): boolean | undefined {
  if (TRUE.includes(text)) return true
  return FALSE.includes(text) ? false : undefined
}

export interface SourceUrl {
  bucket: string
  /** The object, or, ending in a slash or empty, what the names of the objects begin with. */
  key: string
}

const SOURCE_URL = /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/([^/?#@\s]+)(?:\/([^?#]*))?$/

/** `s3://bucket/key`: VCK takes the host for the bucket, whatever the scheme. */
export function parseSourceUrl(text: string): SourceUrl | undefined {
  const [, bucket, key = ''] = SOURCE_URL.exec(text) ?? []
  return bucket === undefined ? undefined : { bucket, key }
}

const ENDPOINT =
  /^https?:\/\/[a-zA-Z0-9.-]+(:\d{1,5})?(\/[^?#\s]*)?$|^https?:\/\/\[[0-9a-fA-F:.]+\](:\d{1,5})?(\/[^?#\s]*)?$/

export function isEndpoint(text: string): boolean {
  return ENDPOINT.test(text)
}

/** The host of an endpoint, without its port. */
export function hostOf(endpoint: string): string {
  return /^https?:\/\/(\[[^\]]*\]|[^:/]*)/.exec(endpoint)?.[1] ?? ''
}

/** A quantity of Kubernetes, such as 5Gi, not below zero. */
export const QUANTITY = /^\+?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/

export function isQuantity(text: string): boolean {
  return QUANTITY.test(text)
}
