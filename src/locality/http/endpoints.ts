/** Keeps requests with credentials to the servers of the configuration, whatever an answer or a claim names. */
import { AWS_ENDPOINT } from '../../core/s3/address.ts'
import { LocalityError } from '../plugins/plugin.ts'

/**
 * Throws when a URL is not one of a configured server. A bucket may be the first part of the host name. At AWS the region is in it.
 */
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
