import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeClaim, makeCluster, makeObject, makePolicy, makeSource } from '../../../test/builders.ts'
import { resourceBindings } from '../../api/karmada.ts'
import { openSnapshotStore } from '../../store/snapshot/read-snapshot.ts'
import { makeFolder, runWords } from '../cli.fake.ts'
import { openPage } from '../ui/ui.fake.ts'

const workload = makeObject('apps/v1', 'Deployment', 'app', { spec: {} })
const matchExpressions = [{ key: 'zone', operator: 'In', values: ['eu-1a', 'eu-1c'] }]

/** A hub whose policy selects zones, with data in a cluster that has one of them and one other. */
const hub = [
  makeCluster('member1', { zones: ['eu-1c'] }),
  makeCluster('member2', { zones: ['eu-1a', 'eu-1b'] }),
  makeClaim(),
  makeSource(),
  makePolicy({ placement: { clusterAffinity: { fieldSelector: { matchExpressions } } } }),
  workload,
]
const makeHub = () => makeFolder({ 'hub.yaml': hub })
const makeFile = (content: unknown) => join(makeFolder({ 'given.yaml': content }), 'given.yaml')
const held = 'on hold'
const narrowed = 'narrowed'

describe('a cluster of which one zone is listed', () => {
  test.each<{ name: string; args?: string[]; configured?: string; want: string }>([
    { name: 'in a folder is allowed, as by the newest Karmada', want: narrowed },
    { name: 'is not allowed by Karmada 1.17', args: ['--karmada-version', '1.17'], want: held },
    { name: 'is allowed by Karmada 1.18', args: ['--karmada-version', 'v1.18.1'], want: narrowed },
    { name: 'is not allowed with 1.16 in the configuration', configured: '1.16', want: held },
    {
      name: 'is allowed with the option, which precedes the configuration',
      configured: '1.16',
      args: ['--karmada-version', '1.18'],
      want: narrowed,
    },
  ])('$name', async ({ args = [], configured, want }) => {
    const folder = makeHub()
    const config = configured ? ['-c', makeFile({ karmada: { version: configured } })] : []
    const checked = await runWords(['check', '-f', makeFile(workload), '--folder', folder, ...config, ...args])
    const explained = await runWords(['explain', 'deployment/app', '--folder', folder, ...config, ...args])

    expect(checked.stdout).toContain(`app-deployment: ${want}\n`)
    expect(explained.stdout.toLowerCase()).toContain(want.replace(' ', ''))
  })
})

describe('the bindings for a folder follow the Karmada version of the option', () => {
  test.each([
    { version: '1.17', want: true },
    { version: '1.18', want: false },
  ])('in a snapshot: $version', async ({ version, want }) => {
    const file = join(makeFolder(), 'hub.lsnap')
    await runWords(['snapshot', '--folder', makeHub(), '-o', file, '--karmada-version', version])
    const { store } = await openSnapshotStore({ file, signal: new AbortController().signal })
    const [binding] = store.list(resourceBindings)
    expect(binding?.spec.suspension?.scheduling ?? false).toBe(want)
  })

  test.each([
    { version: '1.17', want: 1 },
    { version: '1.18', want: 0 },
  ])('on the page: $version', async ({ version, want }) => {
    const page = await openPage(hub, ['--karmada-version', version])
    const { total } = (await page.send('/v1/waiting')).json() as { total: number }
    expect(total).toBe(want)
  })
})
