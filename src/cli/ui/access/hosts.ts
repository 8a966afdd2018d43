/**
 * The names at which the page is served, and the sites that may use it. Pure.
 *
 * A page of another site must not read the fleet through the browser of the user. It could try by a name that resolves to this machine (DNS
 * rebinding), by its own request (cross-site request forgery), or in a frame.
 */
import type { Rejection } from './viewer.ts'

/** Headers of every response. Scripts, styles and data come from this server only; nothing is inline. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export interface RequestHeaders {
  host?: string | undefined
  origin?: string | undefined
  cookie?: string | undefined
  authorization?: string | undefined
  'sec-fetch-site'?: string | string[] | undefined
  'sec-fetch-mode'?: string | string[] | undefined
  'sec-fetch-dest'?: string | string[] | undefined
}

/** The port at the end of a host. */
export const PORT = /:[0-9]{1,5}$/
/** Browsers leave the port of HTTP and HTTPS out. */
const DEFAULT_PORTS = [80, 443]

export const LOOPBACK_NAMES: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

/**
 * Returns a function that says why a request is not served to any reader, by its headers. With `mayBeLinked`, a link on a page of another site
 * may open the address in a tab.
 *
 * @param names the accepted values of the header `Host`; those without a port are accepted with every port
 */
export function hostRules(
  names: readonly string[],
): (headers: RequestHeaders, mayBeLinked?: boolean) => Rejection | undefined {
  const accepted = new Set(names.map((name) => name.toLowerCase()))
  const isServed = (host: string) => {
    const name = host.toLowerCase()
    if (accepted.has(name) || accepted.has(name.replace(PORT, ''))) return true
    return !PORT.test(name) && DEFAULT_PORTS.some((port) => accepted.has(`${name}:${port}`))
  }
  return (headers, mayBeLinked = false) => {
    const { host = '', origin, 'sec-fetch-site': site } = headers
    if (!isServed(host)) {
      return { status: 421, message: `host ${host.slice(0, 100)} is not served; allow it with --host` }
    }
    const isOtherSite = (site === 'cross-site' || site === 'same-site') && !(mayBeLinked && opensTab(headers))
    if (isOtherSite || (origin !== undefined && !isServed(originHost(origin)))) {
      return { status: 403, message: 'a page of another site may not use this server' }
    }
    return undefined
  }
}

/** Whether a browser shows the answer in a tab, where no other page reads it. */
function opensTab({ 'sec-fetch-mode': mode, 'sec-fetch-dest': dest }: RequestHeaders): boolean {
  return mode === 'navigate' && dest === 'document'
}

function originHost(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : ''
}

/** Returns the value of a cookie. */
export function cookieNamed(name: string, header = ''): string | undefined {
  const pairs = header.split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}
