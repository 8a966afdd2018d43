// Faults of a hub that alerts.full does not cause, with a real Prometheus: the section of each alert finds the fault while the alert fires.
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CAUSED_IN } from '../alerts/caused.ts'
import { call } from '../integration/https-client.ts'
import { type Fault, type Installation, runSectionsOf } from './alert-sections.ts'
import type { KubeObject } from './api-client.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type FaultyNetwork, startFaultyNetwork } from './faulty-network.ts'
import { reportApplied, scheduleBeside } from './holds.ts'
import { bindings, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, leaseRights, lodestoneUser, startLodestone } from './lodestone.ts'
import { claim, deployment, only, policy, source } from './manifests.ts'
import { startMetricsServer } from './metrics-server.ts'
import { startPrometheus } from './prometheus-server.ts'

const namespace = 'lodestone-system'
const maxInFlight = 16
const onHold = 'lodestone.dev/hold'

let plane: ControlPlane
let balancer: Balancer
/** Between Lodestone and its API server. */
let network: FaultyNetwork
let lodestone: Lodestone
/** The address of Lodestone behind the balancer. */
let backend: { port: number; healthUrl: string }
let installation: Installation
/** The review of a binding, and the same with so many values that its decision takes long. */
let review: string
let largeReview: string

beforeAll(async () => {
  plane = await startControlPlane()
  await startMetricsServer(plane)
  await installLodestone(plane)
  // They would prevent a schedule beside Lodestone.
  await plane.kubectl(['delete', 'validatingadmissionpolicybindings', '--all'])
  // Pods without a kubelet: Lodestone is a process of this machine.
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'lodestone', namespace } }
  const spec = { serviceAccountName: 'lodestone', containers: [{ name: 'lodestone', image: 'lodestone:1' }] }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'lodestone', namespace }, spec }
  await plane.apply([...leaseRights(), account, pod])
  network = await startFaultyNetwork(Number(new URL(plane.server).port))
  plane.onStop(() => network.stop())
  balancer = await startBalancer()
  plane.onStop(() => balancer.stop())
  const user = await plane.pki.issueUser(lodestoneUser, [])
  lodestone = await startLodestone(plane, {
    kubeconfig: await plane.pki.writeKubeconfig(`https://${network.host}`, lodestoneUser, user),
    config: {
      server: { maxInFlight },
      registration: { url: `https://127.0.0.1:${balancer.port}` },
      loops: { maxMovesPerMinute: 1 },
      leaderElection: { enabled: true },
    },
  })
  const { healthUrl } = lodestone
  backend = { port: Number(new URL(lodestone.url).port), healthUrl }
  balancer.add(backend)
  const prometheus = await startPrometheus(plane.dir, [{ healthUrl, namespace }])
  plane.onStop(() => prometheus.stop())
  const replaced = {
    'KIND/NAME -n NAMESPACE': 'deployment/old -n default',
    // It says what is wrong, and fails.
    'lodestone check-install': '! lodestone check-install',
  }
  installation = { plane, prometheus, lodestones: [lodestone], replaced }
  review = await readFile('test/data/reviews/005-ResourceBinding-CREATE-app-deployment.json', 'utf8')
  const parsed = JSON.parse(review)
  parsed.request.object.spec.values = Array.from({ length: 450_000 }, (_, i) => i)
  largeReview = JSON.stringify(parsed)
})

afterAll(() => plane?.stopAll())

const faults: Fault[] = [
  {
    name: 'a replica answers while it has not read its objects',
    plant: async () => {
      network.refuse()
      const restarted = lodestone.restart()
      await plane.eventually('a review fails', async () => (await send(review)) === 500)
      return async () => {
        network.repair()
        await restarted
      }
    },
    fires: ['LodestoneReviewsFail'],
  },
  {
    name: 'the API server does not reach the webhooks',
    plant: async () => {
      balancer.remove(backend)
      await lodestone.restart()
      return async () => {
        balancer.add(backend)
        await plane.eventually('the loops begin', async () => (await lodestone.metric('lodestone_webhooks_seen')) === 1)
      }
    },
    fires: ['LodestoneLoopsWait'],
  },
  {
    name: 'more requests arrive at once than may wait',
    plant: () =>
      repeat(async () => {
        await Promise.all(Array.from({ length: maxInFlight * 8 }, () => send(review)))
      }),
    fires: ['LodestoneRequestsShed'],
  },
  {
    name: 'a scheduler places a workload on hold while no replica runs',
    plant: async () => {
      await plane.apply([claim('placed', { data: 'unknown' }), deployment('placed')])
      await plane.apply(policy('placed', { placement: only('member1') }))
      await isOnHold('placed')
      await lodestone.stop()
      await scheduleBeside(plane, 'placed', 'member1')
      await reportApplied(plane, 'placed', 'member1')
      await lodestone.restart()
      return async () => undefined
    },
    fires: ['LodestoneWrongPlacement'],
  },
  {
    name: 'the location of a workload has not been known for two hours',
    plant: async () => {
      await plane.apply([claim('old', { data: 'unknown' }), policy('old'), deployment('old')])
      const { [onHold]: annotation = '' } = await isOnHold('old')
      await lodestone.stop()
      const since = new Date(Date.now() - 2 * 3_600_000).toISOString()
      const older = JSON.stringify({ ...JSON.parse(annotation), since })
      await plane.kubectl(['annotate', '--overwrite', 'rb', 'old-deployment', `${onHold}=${older}`])
      await lodestone.restart()
      return () => plane.kubectl(['delete', 'deployment', 'old'])
    },
    fires: ['LodestoneOldHold'],
  },
  {
    name: 'Lodestone may not write bindings',
    plant: async () => {
      const names = Array.from({ length: 12 }, (_, i) => `late-${i}`)
      await plane.apply(source('late', ['member2']))
      await runEverywhere(names)
      const binding = (await plane.getJson('clusterrolebindings', 'lodestone-loops')) as KubeObject
      await plane.kubectl(['delete', 'clusterrolebinding', 'lodestone-loops'])
      await plane.apply([
        ...names.map((name) => claim(name, { data: 'late' })),
        claim('overdue', { data: 'unknown', policy: { holdTimeoutSeconds: 1 } }),
        ...[policy('overdue'), deployment('overdue')],
      ])
      const { metadata, ...content } = binding
      return () => plane.apply({ ...content, metadata: { name: metadata.name } } as KubeObject)
    },
    fires: ['LodestoneClaimsBurnBudgetFast', 'LodestoneHoldOverdue', 'LodestoneClaimsBurnBudget'],
  },
  {
    name: 'the data of workloads moves to and fro',
    plant: async () => {
      const names = Array.from({ length: 4 }, (_, i) => `moving-${i}`)
      await runEverywhere(names)
      await plane.apply(names.map((name) => claim(name, { data: 'moving' })))
      let turns = 0
      return repeat(async () => {
        await plane.apply(source('moving', [`member${1 + (turns++ % 3)}`]))
        await sleep(1000)
      })
    },
    fires: ['LodestoneMovesExhausted'],
  },
  {
    name: 'Lodestone may not read DataSources any more',
    plant: async () => {
      const role = (await plane.getJson('clusterroles', 'lodestone')) as KubeObject & { rules: Rule[] }
      const rules = role.rules.map(({ resources, ...rule }) => ({
        ...rule,
        resources: resources.filter((resource) => resource !== 'datasources'),
      }))
      const write = (content: Rule[]) => plane.api.request('PATCH', rolePath, { rules: content }, mergePatch)
      await write(rules)
      // The connection of the watch ends.
      network.repair()
      return () => write(role.rules)
    },
    fires: ['LodestoneKindUnavailable'],
  },
  {
    name: 'a replica lacks CPU, and gets large requests',
    plant: async () => {
      const ends = [
        await repeat(() => send(largeReview)),
        await repeat(() => send(review)),
        // As a cgroup does at its limit.
        await repeat(async () => {
          process.kill(lodestone.pid, 'SIGSTOP')
          await sleep(200)
          process.kill(lodestone.pid, 'SIGCONT')
          await sleep(100)
        }),
      ]
      return async () => {
        for (const end of ends) await end()
      }
    },
    fires: ['LodestoneReviewsBurnBudgetFast', 'LodestoneReviewsBurnBudget'],
  },
]

interface Rule {
  resources: string[]
}

const rolePath = '/apis/rbac.authorization.k8s.io/v1/clusterroles/lodestone'
const mergePatch = 'application/merge-patch+json'

test.each(faults)('the section finds the fault: $name', { timeout: 900_000 }, async (fault) => {
  expect(await runSectionsOf(fault, installation)).toEqual([])
})

test('the faults are those of the alerts of this file', () => {
  expect(faults.flatMap(({ fires }) => fires).sort()).toEqual(CAUSED_IN['alerts-hub.full'])
})

/** Creates workloads without data, and returns once they are in all members. */
async function runEverywhere(names: string[]): Promise<void> {
  await plane.apply(names.flatMap((name) => [policy(name), deployment(name)]))
  for (const name of names) await hubOn(plane).isOnlyIn(deployment(name), 'member1,member2,member3')
}

/** Returns the annotations of a binding once its workload is on hold. */
async function isOnHold(name: string): Promise<Record<string, string>> {
  return plane.eventually(`${name} is on hold`, async () => {
    const { annotations = {} } = (await plane.getJson(bindings, `${name}-deployment`, 'default'))?.metadata ?? {}
    return onHold in annotations && (annotations as Record<string, string>)
  })
}

/** Sends a review to Lodestone as the API server does, and returns the status of the answer; 0 without an answer. */
async function send(body: string): Promise<number> {
  const ca = await readFile(`${plane.dir}/lodestone-certs/ca.crt`, 'utf8')
  return call({ port: backend.port, ca, path: '/mutate/resource-binding', body }).then(
    ({ status }) => status,
    () => 0,
  )
}

/** Begins to repeat an action. Returns a function that ends it. */
async function repeat(action: () => Promise<unknown>): Promise<() => Promise<void>> {
  let isOver = false
  const repeated = (async () => {
    while (!isOver) await action()
  })()
  return async () => {
    isOver = true
    await repeated
  }
}
