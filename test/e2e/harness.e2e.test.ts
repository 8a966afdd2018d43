// Proves that the test control plane is a working Karmada before anything of Lodestone is added to it.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { secrets } from '../../src/api/dependencies.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import type { ApiConnection } from '../../src/store/cluster/api-connection.ts'
import { openClusterStore } from '../../src/store/cluster/cluster.ts'
import { openConnection } from '../../src/store/cluster/connection.ts'
import type { CachedKind } from '../../src/store/store.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { memberClusters } from './member-clusters.ts'

const members = Object.keys(memberClusters)
const bindings = 'resourcebindings.work.karmada.io'
let plane: ControlPlane

beforeAll(async () => {
  plane = await startControlPlane()
})

afterAll(async () => {
  await plane?.stopAll()
})

describe('the control plane', () => {
  const clients = [
    { client: 'kubectl', run: (args: string[], input: string) => plane.kubectl(args, { input }) },
    { client: 'karmadactl', run: (args: string[], input: string) => plane.karmadactl(args, { input }) },
  ]

  test.each(clients)('schedules what $client creates to all clusters', async ({ client, run }) => {
    const name = `web-${client}`
    const manifests = [deployment(name), policyFor(name)].map((object) => stringify(object)).join('---\n')
    const { stdout } = await run(['apply', '-f', '-'], manifests)
    expect(stdout).toContain(`deployment.apps/${name} created`)
    expect(await scheduledClusters(`${name}-deployment`)).toEqual(members)
    for (const member of members) {
      const work = await plane.eventually(`${member} gets a Work for ${name}`, () => findWork(member, name))
      expect(work.metadata.namespace).toBe(`karmada-es-${member}`)
    }
  })

  test('leaves out a tainted cluster, as long as it is tainted', async () => {
    await plane.taintCluster('member2', { key: 'maintenance', effect: 'NoSchedule' })
    await aNewOneIsScheduledTo('web-tainted', ['member1', 'member3'])
    await plane.untaintCluster('member2', 'maintenance')
    await aNewOneIsScheduledTo('web-untainted', members)
  })

  test('schedules to a cluster that is added later', async () => {
    await plane.addCluster('late', { labels: { location: 'oslo' } })
    await plane.apply([deployment('web-late'), policyFor('web-late', ['late'])])
    expect(await scheduledClusters('web-late-deployment')).toEqual(['late'])
  })

  test('goes on after each of its components was restarted', async () => {
    for (const component of plane.components) {
      const before = plane.pidOf(component)
      await plane.restart(component)
      expect(plane.pidOf(component), component).not.toBe(before)
    }
    // The aggregation layer of a new kube-apiserver needs a moment to find Karmada's API server again.
    await plane.eventually('the clusters are served', async () => (await plane.listJson('clusters')).length >= 3)
    await plane.apply([deployment('web-restarted'), policyFor('web-restarted')])
    expect(await scheduledClusters('web-restarted-deployment', 60_000)).toEqual(members)
  })

  test('refuses what another user may not do', async () => {
    const kubeconfig = await plane.kubeconfigFor('jane', ['developers'])
    const refused = await plane.kubectl(['get', 'deployments'], { kubeconfig, allowFailure: true })
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('User "jane" cannot list resource "deployments"')
  })
})

describe('the control plane with the garbage collector', () => {
  let collected: ControlPlane

  beforeAll(async () => {
    collected = await startControlPlane({ garbageCollector: true })
  })

  afterAll(async () => {
    await collected?.stopAll()
  })

  test('takes the binding away with its workload', async () => {
    await collected.apply([deployment('web'), policyFor('web')])
    await collected.eventually('it has a binding', () => collected.getJson(bindings, 'web-deployment', 'default'))

    await collected.kubectl(['delete', 'deployment', 'web'])

    await collected.eventually('its binding is gone', async () => {
      return (await collected.getJson(bindings, 'web-deployment', 'default')) === undefined
    })
  })

  test('lets a deleted namespace go', async () => {
    await collected.kubectl(['create', 'namespace', 'short-lived'])
    await collected.kubectl(['create', 'configmap', 'left-behind', '--namespace=short-lived'])

    await collected.kubectl(['delete', 'namespace', 'short-lived', '--timeout=60s'])

    expect(await collected.getJson('namespaces', 'short-lived')).toBeUndefined()
  })
})

test('the API server sends only metadata of Secrets to a cache that requests it', async () => {
  const contents = ['open-sesame', 'open-barley'].map((text) => Buffer.from(text).toString('base64'))
  const secret = (name: string, password = contents[0]): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'default' },
    data: { password },
  })
  await plane.apply([secret('there-before')])
  const { connection, received } = listenTo(await openConnection({ kubeconfig: plane.kubeconfig }))
  const kind: CachedKind<K8sObject> = { type: secrets, keep: (raw) => raw, indexes: {}, metadataOnly: true }
  const store = openClusterStore({ connection, kinds: [kind] })
  onTestFinished(async () => {
    await store.stop()
    await connection.close()
  })
  await store.start(AbortSignal.timeout(10_000))

  await plane.apply([secret('comes-later')])
  const held = (name: string) => store.get(secrets, 'default', name)
  const before = await plane.eventually('the watch tells of the new Secret', async () => held('comes-later'))
  await plane.apply([secret('comes-later', contents[1])])
  const version = before.metadata.resourceVersion
  await plane.eventually('and of its change', async () => held('comes-later')?.metadata.resourceVersion !== version)

  for (const name of ['there-before', 'comes-later']) {
    expect(held(name)).toMatchObject({ apiVersion: 'v1', kind: 'Secret', metadata: { uid: expect.any(String) } })
    expect(held(name)).not.toHaveProperty('data')
  }
  expect(received.join('')).toContain('PartialObjectMetadata')
  for (const content of contents) expect(received.join('')).not.toContain(content)
})

/** The same connection, and all that came over it, as text. */
function listenTo(connection: ApiConnection): { connection: ApiConnection; received: string[] } {
  const received: string[] = []
  async function* heard(bytes: AsyncIterable<Uint8Array>) {
    for await (const chunk of bytes) {
      received.push(Buffer.from(chunk).toString())
      yield chunk
    }
  }
  return {
    received,
    connection: {
      server: connection.server,
      request: async (...given) => {
        const answer = await connection.request(...given)
        received.push(JSON.stringify(answer))
        return answer
      },
      stream: async (...given) => heard(await connection.stream(...given)),
      credentialsLifetime: () => connection.credentialsLifetime(),
      sourceProblem: () => connection.sourceProblem(),
      close: () => connection.close(),
    },
  }
}

async function scheduledClusters(binding: string, timeoutMs?: number): Promise<string[]> {
  const clusters = await plane.eventually(
    `ResourceBinding ${binding} is scheduled`,
    async () => {
      const found = await plane.getJson(bindings, binding, 'default')
      return (found as BindingObject | undefined)?.spec.clusters
    },
    timeoutMs,
  )
  return clusters.map((cluster) => cluster.name).sort()
}

// Where a workload is stays, and the scheduler may hear of the first one before it hears of a change of the clusters.
async function aNewOneIsScheduledTo(stem: string, clusters: string[]): Promise<void> {
  let attempt = 0
  await plane.eventually(`a new workload is scheduled to ${clusters}`, async () => {
    const name = `${stem}-${attempt++}`
    await plane.apply([deployment(name), policyFor(name)])
    return (await scheduledClusters(`${name}-deployment`)).join() === clusters.join()
  })
}

async function findWork(member: string, name: string): Promise<KubeObject | undefined> {
  const works = (await plane.listJson('works.work.karmada.io', `karmada-es-${member}`)) as WorkObject[]
  return works.find((work) => work.spec.workload.manifests.some((manifest) => manifest.metadata.name === name))
}

interface BindingObject extends KubeObject {
  spec: { clusters?: { name: string }[] }
}

interface WorkObject extends KubeObject {
  spec: { workload: { manifests: KubeObject[] } }
}

function deployment(name: string): KubeObject {
  const labels = { app: name }
  const containers = [{ name: 'web', image: 'web:1' }]
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default', labels },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  }
}

function policyFor(name: string, clusterNames: string[] = members): KubeObject {
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'PropagationPolicy',
    metadata: { name, namespace: 'default' },
    spec: {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name }],
      placement: { clusterAffinity: { clusterNames } },
    },
  }
}
