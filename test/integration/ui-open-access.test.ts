import { expect, onTestFinished, test } from 'vitest'
import type { CommandIo } from '../../src/cli/command.ts'
import { openAccess } from '../../src/cli/ui/access/open-access.ts'
import { OWNER } from '../../src/cli/ui/access/viewer.ts'
import type { ApiConnection } from '../../src/store/cluster/api-connection.ts'

/** Opens the access of a page that readers enter with a token, and returns what its user sees of it. */
async function opened(address: string, hosts: string[] = []) {
  const request: ApiConnection['request'] = async () => ({ status: { allowed: true } })
  const connection = { request, server: 'https://hub' } as ApiConnection
  const io = { now: Date.now, signal: new AbortController().signal } as CommandIo
  const options = { login: 'token' as const, address, hosts, tls: undefined }
  const { access, certificates, begin } = await openAccess(options, { connection, owner: OWNER }, io)
  onTestFinished(() => certificates?.stop())
  const url = new URL(begin(8443).address)
  return { url: url.href, rejection: access.hostRejection({ host: url.host }) }
}

test.each([
  { address: '127.0.0.1', url: 'https://127.0.0.1:8443/' },
  { address: '10.1.2.3', url: 'https://10.1.2.3:8443/' },
  { address: '2001:db8:0::1', url: 'https://[2001:db8::1]:8443/' },
  { address: 'fe80::1%eth0', url: 'https://[fe80::1]:8443/' },
  { address: '0.0.0.0', url: 'https://localhost:8443/' },
  { address: '::', url: 'https://localhost:8443/' },
  { address: '::', hosts: ['page.example.org'], url: 'https://page.example.org:8443/' },
  { address: '0.0.0.0', hosts: ['page.example.org:443'], url: 'https://page.example.org/' },
])('the address that is printed for $address and $hosts is served', async ({ address, hosts, url }) => {
  expect(await opened(address, hosts)).toEqual({ url, rejection: undefined })
})
