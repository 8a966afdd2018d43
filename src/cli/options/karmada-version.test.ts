import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeClaim, makeCluster, makePolicy, makeSource } from '../../../test/builders.ts'
import { makeFolder, runWords } from '../cli.fake.ts'

const workload = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'app', namespace: 'default' },
  spec: {},
}
const matchExpressions = [{ key: 'zone', operator: 'In', values: ['eu-1a', 'eu-1c'] }]

/** A hub whose policy selects zones, with data in a cluster that has one of them and one other. */
const makeHub = () =>
  makeFolder({
    'hub.yaml': [
      makeCluster('member1', { zones: ['eu-1c'] }),
      makeCluster('member2', { zones: ['eu-1a', 'eu-1b'] }),
      makeClaim(),
      makeSource(),
      makePolicy({ placement: { clusterAffinity: { fieldSelector: { matchExpressions } } } }),
      workload,
    ],
  })
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
    const hub = makeHub()
    const config = configured ? ['-c', makeFile({ karmada: { version: configured } })] : []
    const checked = await runWords(['check', '-f', makeFile(workload), '--folder', hub, ...config, ...args])
    const explained = await runWords(['explain', 'deployment/app', '--folder', hub, ...config, ...args])

    expect(checked.stdout).toContain(`app-deployment: ${want}\n`)
    expect(explained.stdout.toLowerCase()).toContain(want.replace(' ', ''))
  })
})

test.each<{ command: string; target: () => string[] }>([
  { command: 'check', target: () => ['-f', makeFile(workload)] },
  { command: 'explain', target: () => ['deployment/app'] },
])('$command rejects a version that is none, with an example', async ({ command, target }) => {
  const args = [command, ...target(), '--folder', makeHub(), '--karmada-version', 'latest']
  const { status, stderr } = await runWords(args)
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringContaining('--karmada-version takes a version such as 1.17, not latest'),
  })
})
