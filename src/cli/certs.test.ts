import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeFolder, readFolder, runWords } from './cli.fake.ts'

const now = Date.parse('2026-11-20T12:00:00Z')

function certs(directory: string, ...words: string[]) {
  return runWords(['certs', '--directory', directory, ...words], { now: () => now })
}

test('the first run creates and shows a CA and a certificate', async () => {
  const directory = join(makeFolder(), 'certs')

  const { status, stdout, stderr } = await certs(directory)

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(
    new RegExp(
      [
        `^Stored in {4}${directory}`,
        'Certificate  .*CN=lodestone, until Feb 18 .* 2027 GMT',
        'Hosts {8}lodestone.lodestone-system.svc, localhost, 127.0.0.1, 0:0:0:0:0:0:0:1',
        'Trusted CA   .*CN=lodestone-ca-.*, until Nov 20 .* 2027 GMT',
        'Created {6}the signing CA \\(missing\\)',
        'Created {6}the serving certificate \\(missing\\)',
        '$',
      ].join('\n'),
    ),
  )
  expect(readFileSync(join(directory, 'tls.crt'), 'utf8')).toContain('BEGIN CERTIFICATE')
  expect(statSync(join(directory, 'tls.key')).mode & 0o077).toBe(0)
})

test('the second run shows them and creates nothing', async () => {
  const directory = makeFolder()
  const first = await certs(directory)
  const before = readFolder(directory)

  const second = await certs(directory)

  expect(second.status).toBe(0)
  expect(second.stdout).toBe(first.stdout.replaceAll(/^Created.*\n/gm, ''))
  expect(readFolder(directory)).toEqual(before)
})

test('--renew publishes another CA, and the certificate stays', async () => {
  const directory = makeFolder()
  await certs(directory)
  const certificate = readFileSync(join(directory, 'tls.crt'), 'utf8')
  const authority = readFileSync(join(directory, 'ca.crt'), 'utf8')

  const { status, stdout } = await certs(directory, '--renew')

  expect(status).toBe(0)
  expect(stdout.match(/^Trusted CA/gm)).toHaveLength(2)
  expect(stdout).toContain('Created      a CA, trusted now, signing later (requested)\n')
  expect(readFileSync(join(directory, 'tls.crt'), 'utf8')).toBe(certificate)
  expect(readFileSync(join(directory, 'ca.crt'), 'utf8')).toContain(authority.trim())
})

test('--host adds a name to the certificate, which is created again', async () => {
  const directory = makeFolder()
  await certs(directory)

  const { stdout, stderr } = await certs(directory, '--host', 'hub.example.org', '--host', '10.0.0.7')

  expect(stderr).toBe(
    'lodestone certs: the server renews the certificate without hub.example.org, 10.0.0.7; to keep hosts, add them to certificates.hosts of its configuration\n',
  )
  expect(stdout).toMatch(/^Hosts .*, hub\.example\.org, 10\.0\.0\.7$/m)
  expect(stdout).toContain('Created      the serving certificate (hosts-not-covered)\n')
  expect(stdout).not.toContain('the signing CA')
})

test.each(['hub.example.org', 'HUB.example.org.', 'member.example.com', 'localhost'])(
  '--host %s says nothing if the server keeps it',
  async (host) => {
    const certificates = { directory: makeFolder(), hosts: ['hub.example.org', '*.example.com'] }
    const file = join(makeFolder({ 'lodestone.yaml': { certificates } }), 'lodestone.yaml')

    expect(await runWords(['certs', '--config', file, '--host', host])).toMatchObject({ status: 0, stderr: '' })
  },
)

test.each(['/proc/x', '/proc/x/y'])('a folder that cannot be created is an error: %s', async (directory) => {
  await expect(certs(directory)).rejects.toThrow('cannot create the folder /proc/x; choose another one')
})

test('the configuration file sets the folder and the hosts', async () => {
  const folder = makeFolder()
  const directory = join(folder, 'kept')
  const files = makeFolder({ 'lodestone.yaml': { certificates: { directory, hosts: ['hub.example.org'] } } })

  const { stdout } = await runWords(['certs', '--config', join(files, 'lodestone.yaml')])

  expect(stdout).toContain(`Stored in    ${directory}\n`)
  expect(stdout).toContain('hub.example.org')
  expect(readlinkSync(join(directory, 'current'))).toBe('v1')
})

describe('certificates that Lodestone does not renew (certificates.source: files)', () => {
  const configured = (directory: string) =>
    join(makeFolder({ 'lodestone.yaml': { certificates: { source: 'files', directory } } }), 'lodestone.yaml')

  test('are shown, and none is created', async () => {
    const directory = makeFolder()
    await certs(directory)
    const before = readFolder(directory)

    const { status, stdout } = await runWords(['certs', '--config', configured(directory)], { now: () => now })

    expect(status).toBe(0)
    expect(stdout).toContain(`Stored in    ${directory}\n`)
    expect(stdout).not.toContain('Created')
    expect(readFolder(directory)).toEqual(before)
  })

  test('are not created when they are missing', async () => {
    const directory = makeFolder()

    const { status, stderr } = await runWords(['certs', '--config', configured(directory)])

    expect(status).toBe(1)
    expect(stderr).toContain(directory)

    expect(existsSync(join(directory, 'ca.key'))).toBe(false)
  })

  test('get no further host', async () => {
    const directory = makeFolder()
    await certs(directory)

    const answer = await runWords(['certs', '--host', 'hub.example.org', '--config', configured(directory)])

    const reason = `certificates.source is files: Lodestone does not change ${directory}; issue the files for this host`
    expect(answer).toEqual({ status: 2, stdout: '', stderr: `lodestone certs: ${reason}\n` })
  })
})
