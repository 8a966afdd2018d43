// Claims that the CRD of volcano-global accepted, and that Lodestone finds invalid: on a real API server, they are freed and deleted.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { runLodestone } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, leaseRights, startLodestone } from './lodestone.ts'
import { tableClaim } from './manifests.ts'

const repository = join(import.meta.dirname, '..', '..')
const claims = 'datasourceclaims.datadependency.volcano.sh'
const theirs = 'datadependency.volcano.sh/finalizer'
const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }

const INVALID: Readonly<Record<string, object>> = {
  'empty-namespace': { workload: { ...workload, namespace: '' } },
  'forty-attributes': { attributes: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`a${i}`, 'x'])) },
  'padded-name': { dataSourceName: ' lake.shop.orders ' },
  'long-type': { dataSourceType: 't'.repeat(64) },
}

let plane: ControlPlane
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  const crds = readFileSync(join(repository, 'test', 'data', 'deploy-guide', 'upstream-crds.yaml'), 'utf8')
  await plane.kubectl(['apply', '-f', '-'], { input: crds })
  await plane.crdsEstablished()
  const objects = Object.entries(INVALID).flatMap(([name, spec]) =>
    [name, `${name}-deleted`].map((each) => makeTheirs(each, spec)),
  )
  await apply(...objects)
  for (const name of Object.keys(INVALID)) await plane.kubectl(['delete', claims, `${name}-deleted`, '--wait=false'])
  const kubeconfig = await installLodestone(plane)
  await apply(...leaseRights())
  lodestone = await startLodestone(plane, { kubeconfig })
})

afterAll(async () => {
  await lodestone?.stop()
  await plane?.stopAll()
})

function makeTheirs(name: string, spec: object): KubeObject {
  const claim = tableClaim(name, { data: 'orders' })
  return { ...claim, metadata: { ...claim.metadata, finalizers: [theirs] }, spec: { ...claim.spec, ...spec } }
}

async function apply(...objects: KubeObject[]): Promise<void> {
  const items = { apiVersion: 'v1', kind: 'List', items: objects }
  await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(items) })
}

const migrate = () => runLodestone(['migrate', '--kubeconfig', plane.kubeconfig, '--apply'])

test('migrate --apply frees the claims, and those that were deleted are gone', async () => {
  const { code, stdout, stderr } = await migrate()

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('8 objects changed, 0 failed\n')
  for (const name of Object.keys(INVALID)) {
    const kept = await plane.getJson(claims, name, 'default')
    expect(JSON.stringify(kept?.metadata['finalizers'] ?? [])).not.toContain(theirs)
    await plane.eventually(`${name}-deleted is gone`, async () => {
      return (await plane.getJson(claims, `${name}-deleted`, 'default')) === undefined
    })
  }
})

test.each(Object.entries(INVALID))(
  'a new claim with %s is rejected, and a change of a stored one too',
  async (name, spec) => {
    await expect(apply(makeTheirs(`${name}-new`, spec))).rejects.toThrow('lodestone.dev')
    const patch = JSON.stringify({ spec: { policy: { rebalance: 'Never' } } })
    await expect(plane.kubectl(['patch', claims, name, '--type=merge', '-p', patch])).rejects.toThrow('lodestone.dev')
    await plane.kubectl(['label', claims, name, 'team=data'])
  },
)
