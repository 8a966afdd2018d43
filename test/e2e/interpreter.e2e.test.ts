// Karmada's own distributor asks Lodestone what a workload needs, and attaches what only Lodestone knows of.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { configMap, deployment, policy, type SpecObject } from './manifests.ts'

const bindings = 'resourcebindings.work.karmada.io'
const configurations = 'resourceinterpreterwebhookconfigurations.config.karmada.io'

let plane: ControlPlane
let kubeconfig: string
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane()
  kubeconfig = await installLodestone(plane)
  lodestone = await startLodestone(plane, { kubeconfig })
})

afterAll(async () => {
  await plane?.stopAll()
})

test('the interpreter is registered at Karmada, in a form that its webhook accepts', async () => {
  // The installation creates it empty, and Lodestone fills it in when it has started.
  const { metadata, webhooks } = await filledIn()
  const [entry] = webhooks

  expect(metadata.labels).toEqual({ 'app.kubernetes.io/name': 'lodestone' })
  expect(webhooks).toHaveLength(1)
  expect(entry?.clientConfig).toEqual({
    url: `${lodestone.url}/interpret/dependencies`,
    caBundle: expect.stringMatching(/^LS0tLS1CRUdJTi/),
  })
  // It is there to be passed: what it does not let pass is refused.
  const wrong = { ...(await configuration()), metadata: { name: 'wrong' }, webhooks: [{ ...entry, name: 'short' }] }
  const { code, stderr } = await plane.tryCreate(wrong)
  expect(code).not.toBe(0)
  expect(stderr).toContain('should be a domain with at least two segments')
})

describe('a Deployment whose policy propagates dependencies', () => {
  test('needs what its pods name and the Service that selects them', async () => {
    await createWithDependencies('needy')

    await recordsDependenciesOf('needy')
  })

  test('has its Service attached to where it is scheduled', async () => {
    await createWithDependencies('attached')

    await recordsDependenciesOf('attached')
    await plane.eventually('the Service is attached', async () => {
      const attached = await plane.getJson(bindings, 'attached-service', 'default')
      const { clusters = [] } = ((await plane.getJson(bindings, 'attached-deployment', 'default')) as SpecObject).spec
      expect((attached as SpecObject | undefined)?.spec['requiredBy']).toEqual([
        { namespace: 'default', name: 'attached-deployment', clusters },
      ])
      return (clusters as unknown[]).length > 0
    })
  })

  test('is asked about in calls that are counted and logged', async () => {
    await createWithDependencies('asked')

    await recordsDependenciesOf('asked')
    expect(
      await lodestone.metric('controller_runtime_webhook_requests_total', 'webhook="dependencies",code="200"'),
    ).toBeGreaterThan(0)
    // Lines are gathered before they are written.
    await plane.eventually('the request is logged', async () => {
      const lines = (await lodestone.readLog()).split('\n').filter((line) => line.includes('"msg":"interpreted"'))
      return lines.join('\n').includes('"object":"apps/v1 Deployment default/asked"')
    })
  })

  test('keeps what it has while Lodestone is away', async () => {
    await createWithDependencies('kept')
    await recordsDependenciesOf('kept')
    await plane.eventually('the Service is attached', () => plane.getJson(bindings, 'kept-service', 'default'))

    onTestFinished(() => lodestone.restart())
    await lodestone.stop()
    await plane.kubectl(['scale', 'deployment', 'kept', '--replicas=3'])
    await plane.eventually('Karmada fails to ask', async () => {
      const { stdout } = await plane.kubectl(['describe', 'deployment', 'kept'])
      return stdout.includes('GetDependenciesFailed')
    })

    expect(await noted('kept-deployment')).toEqual(['ConfigMap/kept-settings', 'Service/kept'])
    expect(await plane.getJson(bindings, 'kept-service', 'default')).toMatchObject({
      spec: { requiredBy: [{ name: 'kept-deployment' }] },
    })
  })
})

test('without distribution by Lodestone, Karmada distributes dependencies alone', async () => {
  await lodestone.stop()
  const apart = await startLodestone(plane, {
    kubeconfig,
    name: 'apart',
    config: { dependencies: { distribution: 'none' } },
  })
  onTestFinished(async () => {
    await apart.stop()
    await lodestone.restart()
    await filledIn()
  })
  await plane.eventually('the configuration is emptied', async () => {
    const { webhooks = [] } = (await configuration()) ?? {}
    return webhooks.length === 0
  })

  await plane.create(
    policy('plain', { propagateDeps: true }),
    deployment('plain', { needs: [configMap('plain-settings')] }),
  )

  await plane.eventually('Karmada finds by itself what it knows of', async () => {
    expect(await noted('plain-deployment')).toEqual(['ConfigMap/plain-settings'])
    return true
  })
})

interface Configuration extends KubeObject {
  webhooks: { name: string; clientConfig: object }[]
}

async function configuration(): Promise<Configuration | undefined> {
  return (await plane.getJson(configurations, 'lodestone')) as Configuration | undefined
}

async function filledIn(): Promise<Configuration> {
  return plane.eventually('the configuration has a webhook', async () => {
    const found = await configuration()
    return found?.webhooks?.length ? found : undefined
  })
}

/** Creates a Deployment with a ConfigMap that its pods name and a Service that selects them. */
async function createWithDependencies(name: string): Promise<void> {
  const settings = configMap(`${name}-settings`)
  await plane.create(
    service(name),
    settings,
    policy(name, { propagateDeps: true }),
    deployment(name, { needs: [settings] }),
  )
}

async function recordsDependenciesOf(name: string): Promise<void> {
  await plane.eventually('Karmada records both', async () => {
    expect(await noted(`${name}-deployment`)).toEqual([`ConfigMap/${name}-settings`, `Service/${name}`])
    return true
  })
}

/** Returns `kind/name` of each dependency that Karmada records on a binding, sorted. */
async function noted(name: string): Promise<string[]> {
  const binding = await plane.getJson(bindings, name, 'default')
  const note = binding?.metadata.annotations?.['resourcebinding.karmada.io/dependencies'] ?? '[]'
  return (JSON.parse(note) as { kind: string; name: string }[]).map(({ kind, name }) => `${kind}/${name}`).sort()
}

function service(name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  }
}
