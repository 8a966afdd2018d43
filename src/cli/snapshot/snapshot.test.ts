import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeClaim, makePod } from '../../../test/builders.ts'
import { NEVER } from '../../../test/fleet/fleet-files.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { pods } from '../../api/pod.ts'
import { openSnapshotStore } from '../../store/snapshot/read-snapshot.ts'
import { makeFolder, runWords } from '../cli.fake.ts'

test('the file has the objects of a folder, and the configuration that decisions read', async () => {
  const pod = makePod([{ name: 'sales' }], { schedulingGates: [{ name: 'lodestone.dev/volumes' }] })
  const folder = makeFolder({ 'all.yaml': [makeClaim(), pod] })
  const config = join(makeFolder({ config: CONFIG }), 'config')
  const file = join(makeFolder(), 'fleet.lsnap')

  const answer = await runWords(['snapshot', '--folder', folder, '-c', config, '-o', file, '--karmada-version', '1.17'])

  expect(answer).toMatchObject({ status: 0, stderr: '' })
  expect(answer.stdout).toMatch(/fleet.lsnap: 2 objects, \d+ KiB\n$/)
  const { store, header } = await openSnapshotStore({ file, signal: NEVER })
  expect(header).toMatchObject({
    takenAt: '2026-11-20T12:00:00.000Z',
    anonymous: false,
    karmadaRules: { zoneInMatchesAny: false },
    clusterScopedClaims: 'allowed',
    timing: { failbackWindowMs: 7000 },
    workloadKinds: CONFIG.workloadKinds,
  })
  expect(store.kinds().map(({ kind }) => kind)).toContain('Gadget')
  expect(store.kinds().map(({ kind }) => kind)).not.toContain('Secret')
  expect([...store.list(dataSourceClaims)]).toMatchObject([makeClaim()])
  // Of a pod that waits at its gate, the content is not in the file.
  expect(JSON.stringify([...store.list(pods)])).not.toContain('containers')
})

const CONFIG = {
  claims: { clusterScoped: 'allowed' },
  placement: { failbackWindowSeconds: 7 },
  workloadKinds: [
    { group: 'example.com', versions: ['v1'], kind: 'Gadget', plural: 'gadgets', templates: ['spec.pod'] },
  ],
}

test('the standard output is the same file', async () => {
  const parts: Buffer[] = []
  const stdout = { write: (part: string | Uint8Array) => parts.push(Buffer.from(part as Uint8Array)) }
  const { status } = await runWords(['snapshot', '--folder', 'examples/hub'], { stdout })
  const folder = makeFolder()
  const file = join(folder, 'fleet.lsnap')
  writeFileSync(file, Buffer.concat(parts))
  expect(status).toBe(0)
  expect([...(await openSnapshotStore({ file, signal: NEVER })).store.list(dataSourceClaims)]).toHaveLength(1)
  expect(readdirSync(folder)).toEqual(['fleet.lsnap'])
})

test('a pipe is written, and not replaced by a file', async () => {
  const pipe = join(makeFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const file = join(makeFolder(), 'fleet.lsnap')
  const [content, answer] = await Promise.all([
    readFile(pipe),
    runWords(['snapshot', '--folder', 'examples/hub', '-o', pipe]),
  ])
  writeFileSync(file, content)
  expect(answer).toEqual({ status: 0, stdout: '', stderr: '' })
  expect(lstatSync(pipe).isFIFO()).toBe(true)
  expect([...(await openSnapshotStore({ file, signal: NEVER })).store.list(dataSourceClaims)]).toHaveLength(1)
})

test('a link stays a link to the file that is written', async () => {
  const folder = makeFolder({ 'old.lsnap': 'old' })
  const link = join(folder, 'link.lsnap')
  symlinkSync('old.lsnap', link)
  const { status } = await runWords(['snapshot', '--folder', 'examples/hub', '-o', link])
  expect(status).toBe(0)
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  const file = join(folder, 'old.lsnap')
  expect([...(await openSnapshotStore({ file, signal: NEVER })).store.list(dataSourceClaims)]).toHaveLength(1)
})

test('a terminal gets no bytes', async () => {
  const { status, stdout, stderr } = await runWords(['snapshot', '--folder', 'examples/hub'], { isTTY: true })
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr: 'lodestone snapshot: a snapshot is not text; write it into a file with -o FILE\n',
  })
})
