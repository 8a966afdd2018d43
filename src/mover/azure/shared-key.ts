/** Signs requests with the key of a storage account (Shared Key). The caller provides the HMAC, since it depends on the platform. */

export interface RequestToSign {
  method: string
  /** The path as it is sent. */
  path: string
  /** Decoded. */
  query: Readonly<Record<string, string>>
  /** With names in lower case; `x-ms-date` is one of them. */
  headers: Readonly<Record<string, string>>
  /** In bytes. */
  contentLength: number
}

/** The headers of the string to sign, in the order of the specification. The length is between the second and the third. */
const BEFORE_LENGTH = ['content-encoding', 'content-language']
const AFTER_LENGTH = [
  'content-md5',
  'content-type',
  // The time is in x-ms-date.
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
]

/**
 * The name of a header, for the order of the headers. Azure sorts them as the culture en-US of .NET does, which passes over hyphens, and has
 * an underscore before digits and letters. The names of metadata have both digits and underscores.
 * https://github.com/Azure/azure-sdk-for-js/blob/main/sdk/storage/storage-common/src/SharedKeyComparator.ts
 */
function sortKey(name: string): string {
  return name.replaceAll('-', '').replaceAll('_', ' ')
}

/**
 * Returns the text whose HMAC-SHA256 by the key is the signature.
 * https://learn.microsoft.com/en-us/rest/api/storageservices/authorize-with-shared-key
 */
export function stringToSign({ method, path, query, headers, contentLength }: RequestToSign, account: string): string {
  const header = (name: string) => headers[name] ?? ''
  const ownHeaders = Object.keys(headers)
    .filter((name) => name.startsWith('x-ms-'))
    .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
    .map((name) => `${name}:${header(name)}`)
  const parameters = Object.keys(query)
    .sort()
    .map((name) => `${name.toLowerCase()}:${query[name]}`)
  return [
    method,
    ...BEFORE_LENGTH.map(header),
    contentLength === 0 ? '' : `${contentLength}`,
    ...AFTER_LENGTH.map(header),
    ...ownHeaders,
    `/${account}${path}`,
    ...parameters,
  ].join('\n')
}
