/** Parses the URLs of data in Azure Blob Storage, and recognizes the servers of a storage account. */
import type { ObjectPlace } from '../objects.ts'
import { decodeEscapes, withoutTrailingSlashes } from './url-encoding.ts'

export interface BlobUrl {
  /** The address of the account, without a slash at the end. */
  endpoint: string
  container: string
  /** Decoded: the name of a blob, or a prefix of names, which ends in a slash or is empty. */
  key: string
}

/**
 * Parses the URL of a blob or a prefix as the Azure portal shows it: `https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX/`, in which
 * special characters are percent-encoded. With an endpoint, the URL must begin with it: in the endpoint of an emulator, the account is in
 * the path.
 *
 * @returns undefined for another text, and for a URL with a user, a query or a fragment
 */
export function parseBlobUrl(url: string, endpoint = ''): BlobUrl | undefined {
  const base = withoutTrailingSlashes(endpoint) || /^https?:\/\/[^/?#@\s]+/i.exec(url)?.[0]
  if (base === undefined || !url.startsWith(`${base}/`) || /[?#]/.test(url)) return undefined
  const [, container = '', path = ''] = /^([^/]*)(?:\/(.*))?$/s.exec(url.slice(base.length + 1)) ?? []
  const key = decodeEscapes(path)
  return key === undefined || container === '' ? undefined : { endpoint: base, container, key }
}

/** The URL with which a mover gets a place: `az://container/key`, where the key is not encoded. */
export function azureUrl({ container, key }: Pick<BlobUrl, 'container' | 'key'>): string {
  return `az://${container}/${key}`
}

/** Parses `az://container/key`, or `az://container/prefix/` for everything below it; undefined for any other text. */
export function parseAzureUrl(url: string): ObjectPlace | undefined {
  const [, container = '', key = ''] = /^az:\/\/([^/]*)(?:\/(.*))?$/is.exec(url) ?? []
  if (!isContainerName(container)) return undefined
  const recursive = key === '' || key.endsWith('/')
  return { url: azureUrl({ container, key }), container, globRoot: `az/${container}/`, key, recursive }
}

/** The rules of Azure for the names of containers, with the system containers that can have blobs. */
export function isContainerName(name: string): boolean {
  return /^(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*$|^\$(?:root|web|logs)$/.test(name)
}

/** The endpoints of the Azure clouds, and those of accounts with a DNS zone. */
const OF_AZURE =
  /^https:\/\/([a-z0-9]{3,24})(?:-secondary)?\.(?:blob\.core\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)|z\d{1,3}\.blob\.storage\.azure\.net)$/

/** Whether an origin is the blob service of an account in one of the Azure clouds, over TLS. */
export function isOfAccount(origin: string, account: string): boolean {
  return OF_AZURE.exec(origin)?.[1] === account
}
