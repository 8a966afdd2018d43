import { describe, expect, test } from 'vitest'
import type { ClaimReport, HoldReport, StatusReport, VolumeReport } from '../status/report.ts'
import { waitingRows } from './waiting.ts'

const workload = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'demo', name: 'trainer' }

function hold(overrides: Partial<HoldReport> = {}): HoldReport {
  return { workload, reason: 'Unresolved', message: 'why', since: '2026-11-20T09:00:00Z', ...overrides }
}

function claim(overrides: Partial<ClaimReport> = {}): ClaimReport {
  return {
    namespace: 'demo',
    name: 'orders',
    phase: 'Pending',
    system: 'amoro',
    dataSourceType: 'table',
    dataSourceName: 'sales.orders',
    enforcement: 'Required',
    workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'trainer' },
    location: 'Unknown',
    clusters: [],
    ...overrides,
  }
}

function volume(overrides: Partial<VolumeReport> = {}): VolumeReport {
  return {
    namespace: 'demo',
    volumeManager: 'weights',
    volume: 'bert',
    sourceType: 'S3',
    state: 'Pending',
    readyReplicas: 0,
    replicas: 2,
    nodes: [],
    ...overrides,
  }
}

function rows(lists: Partial<StatusReport>) {
  return waitingRows({ apiVersion: 'cli.lodestone.dev/v1alpha1', kind: 'Status', ...lists })
}

test('the longest wait is first, and a wait without a known begin is last', () => {
  const named = (name: string) => ({ workload: { ...workload, name } })
  const { since: _, ...predicted } = hold(named('predicted'))
  const holds = [predicted, hold({ ...named('short'), since: '2026-11-20T11:00:00Z' }), hold(named('long'))]
  expect(rows({ holds }).map(({ object }) => object.name)).toEqual(['long', 'short', 'predicted'])
})

test('a command quotes names that a shell would run', () => {
  const system = { name: 'a; touch b', sources: 1, staleSources: 0, health: 'Unhealthy' as const }
  const hostile = { ...workload, name: '$(touch b)' }
  const held = rows({ holds: [hold()], claims: [claim({ system: system.name })], systems: [system] })
  const lists = {
    holds: [hold({ workload: hostile, reason: 'DataLost' })],
    volumes: [volume({ volumeManager: '`b`' })],
  }

  expect([...held, ...rows(lists)].map(({ remedy }) => remedy?.command)).toEqual([
    "lodestone status --system 'a; touch b'",
    "lodestone explain 'Deployment/$(touch b)' -n demo",
    "kubectl describe vmgr '`b`' -n demo",
  ])
})

describe('the remedy of a hold', () => {
  test.each<{ name: string; lists: Partial<StatusReport>; text: string; command: string }>([
    {
      name: 'for data without a DataSource names its data system',
      lists: { holds: [hold()], claims: [claim()] },
      text: 'configure data system amoro, or create a DataSource for its data',
      command: 'kubectl get datasources',
    },
    {
      name: 'names the data system that does not answer',
      lists: {
        holds: [hold()],
        claims: [claim({ source: 'orders' })],
        systems: [{ name: 'amoro', sources: 1, staleSources: 1, health: 'Unhealthy' }],
      },
      text: 'wait until data system amoro answers again, or repair it',
      command: 'lodestone status --system amoro',
    },
    {
      name: 'for a claim without permission shows the claim',
      lists: { holds: [hold()], claims: [claim({ location: 'NotPermitted' })] },
      text: 'permit the claim, or create it in the namespace of the workload',
      command: 'kubectl describe dsc orders -n demo',
    },
    {
      name: 'for data that no allowed cluster has names both ways out',
      lists: { holds: [hold({ reason: 'Unsatisfiable' })] },
      text: 'copy the data to a cluster that the policy allows, or allow a cluster with the data in the policy',
      command: 'lodestone explain Deployment/trainer -n demo',
    },
    {
      name: 'for a missing claim shows how a claim looks',
      lists: { holds: [hold({ reason: 'ClaimMissing' })] },
      text: 'create a DataSourceClaim for this workload, or remove the annotation from its policy',
      command: 'kubectl explain datasourceclaim.spec',
    },
    {
      name: 'for a reason that is not known explains the workload',
      lists: { holds: [hold({ reason: 'SomethingNew' })] },
      text: 'the explanation shows what is missing',
      command: 'lodestone explain Deployment/trainer -n demo',
    },
  ])('$name', ({ lists, text, command }) => {
    expect(rows(lists).map(({ remedy }) => remedy)).toEqual([{ text, command }])
  })
})

test('a hold links to the claim that is not located, and not to one that is', () => {
  const claims = [claim({ name: 'there', location: 'Located' }), claim()]
  expect(rows({ holds: [hold()], claims })[0]?.blocker).toEqual({
    kind: 'DataSourceClaim',
    namespace: 'demo',
    name: 'orders',
  })
})

test('the hold of a cluster-scoped workload links to its claim in a namespace', () => {
  const clusterScoped = { apiVersion: 'ray.example/v1', kind: 'Fleet', name: 'trainer' }
  const [row] = rows({ holds: [hold({ workload: clusterScoped })], claims: [claim({ workload: clusterScoped })] })
  expect(row?.blocker).toEqual({ kind: 'DataSourceClaim', namespace: 'demo', name: 'orders' })
})

test('of several claims, a hold links to the one that causes it', () => {
  const claims = [
    claim({ name: 'preferred', enforcement: 'Preferred' }),
    claim({ name: 'not-permitted', location: 'NotPermitted' }),
    claim({ name: 'required' }),
  ]
  for (const given of [claims, claims.toReversed()]) {
    expect(rows({ holds: [hold()], claims: given })[0]?.blocker?.name).toBe('required')
  }
})

describe('a volume', () => {
  test.each<{ name: string; of: Partial<VolumeReport>; waits: boolean }>([
    { name: 'waits while it is Pending', of: {}, waits: true },
    { name: 'waits after it Failed', of: { state: 'Failed' }, waits: true },
    {
      name: 'waits while replicas are missing',
      of: { state: 'Running', readyReplicas: 1, message: 'node full' },
      waits: true,
    },
    { name: 'does not wait with all of its replicas', of: { state: 'Running', readyReplicas: 2 }, waits: false },
    { name: 'does not wait after it Completed', of: { state: 'Completed' }, waits: false },
  ])('$name', ({ of, waits }) => {
    expect(rows({ volumes: [volume(of)] })).toHaveLength(waits ? 1 : 0)
  })

  test('shows the reason and the sentence of its replica', () => {
    const [row] = rows({ volumes: [volume({ reason: 'NodeDiskFull', message: 'node n1 is full' })] })
    expect(row).toMatchObject({ volume: 'bert', cause: 'NodeDiskFull', message: 'node n1 is full' })
  })
})
