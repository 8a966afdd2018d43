/** Sends requests with credentials only to the servers of the configuration, never to a server that a response or a claim names. */
import { AWS_ENDPOINT } from '../../s3/address.ts'
import { LocalityError } from '../locality.ts'

/** Throws when a URL is not on a configured server. The host name may begin with a bucket and, at AWS, contain the region. */
export function checkEndpoint(text: string, configured: readonly string[]): void {
  const url = URL.parse(text)
  if (url === null) throw new LocalityError('rejected', 'the endpoint and the name of the data make no valid URL')
  if (url.username === '' && configured.some((base) => isOf(url, new URL(base)))) return
  throw new LocalityError('rejected', `${url.origin}: not an endpoint of this system; name it in endpoint.url`)
}

function isOf({ protocol, port, hostname }: URL, base: URL): boolean {
  if (protocol !== base.protocol || port !== base.port) return false
  if (hostname === base.hostname || hostname.endsWith(`.${base.hostname}`)) return true
  return base.origin === AWS_ENDPOINT && /(?:^|\.)s3\.[a-z0-9-]+\.amazonaws\.com$/.test(hostname)
}
