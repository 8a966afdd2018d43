/** Which proxy a request goes through, by the variables that every tool knows. */

interface Target {
  protocol: string
  hostname: string
  port: string
}

/** The URL of the proxy for a server; undefined for none. Names in NO_PROXY count for what is below them, `*` for all. */
export function proxyFor(
  { protocol, hostname, port }: Target,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const read = (name: string) => env[name] || env[name.toLowerCase()] || undefined
  const proxy = protocol === 'https:' ? read('HTTPS_PROXY') : read('HTTP_PROXY')
  const exempt = (read('NO_PROXY') ?? '').split(/[\s,]+/).filter(Boolean)
  return exempt.some((entry) => isExempt(entry.toLowerCase(), hostname.toLowerCase(), port)) ? undefined : proxy
}

function isExempt(entry: string, hostname: string, port: string): boolean {
  if (entry === '*') return true
  const [, name = '', entryPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
  if (entryPort !== undefined && entryPort !== port) return false
  const domain = name.replace(/^\*?\./, '')
  return hostname === domain || hostname.endsWith(`.${domain}`)
}
