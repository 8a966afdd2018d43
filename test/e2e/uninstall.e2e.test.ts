// docs/uninstall.md, step by step, on a hub with a workload that is placed by its data, another that is on hold, and a dependency.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { bindings, type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, configMap, deployment, policy, source } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

const run = promisify(execFile)
const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts')

let plane: ControlPlane
let hub: Hub
let kubeconfig: string
const lodestones: Lodestone[] = []

beforeAll(async () => {
  plane = await startControlPlane({
    garbageCollector: true,
    flags: { 'karmada-controller-manager': ['--feature-gates=PropagateDeps=false'] },
  })
  hub = hubOn(plane)
  kubeconfig = await installLodestone(plane)
})

afterAll(() => stopAndCheckRights({ plane, lodestones }))

test('each step of the page works, and leaves the placements of the policies', async () => {
  const installed = await start('builtin')
  const settings = configMap('placed-settings')
  const { metadata, ...rest } = policy('waiting')
  const requiresClaim = { ...metadata, annotations: { 'lodestone.dev/requires-claim': 'true' } }
  await hub.apply(settings, source('placed-data', ['member2']), claim('placed', { data: 'placed-data' }))
  await hub.apply(policy('placed'), deployment('placed', { needs: [settings] }))
  await hub.apply({ ...rest, metadata: requiresClaim }, deployment('waiting'))
  await hub.isOnlyIn(deployment('placed'), 'member2')
  await hub.isOnlyIn(settings, 'member2')
  await plane.eventually('the other is on hold', async () => (await bindingsInYaml()).includes('lodestone.dev/hold'))

  // Step 1: what Lodestone attached is detached, and its finalizer is removed.
  await installed.stop()
  const leaving = await start('none')
  await plane.eventually('nothing is attached', async () => {
    expect(await bindingsInYaml()).not.toContain('lodestone.dev/depend')
    return true
  })

  // Step 2: the placement of the policies applies again, and holds end.
  await plane.kubectl(['annotate', 'propagationpolicy', 'waiting', 'lodestone.dev/requires-claim-'])
  await plane.kubectl(['delete', 'datasourceclaims', '-A', '--all'])
  await plane.kubectl(['delete', 'datasources', '--all'])
  await hub.isOnlyIn(deployment('placed'), 'member1,member2,member3')
  await hub.isOnlyIn(deployment('waiting'), 'member1,member2,member3')
  await plane.eventually('no binding names Lodestone', async () => !(await bindingsInYaml()).includes('lodestone.dev/'))

  // Steps 3 to 6: Karmada works without Lodestone.
  await leaving.stop()
  await plane.kubectl(['delete', 'mutatingwebhookconfiguration,validatingwebhookconfiguration', 'lodestone'])
  await plane.kubectl(['delete', 'resourceinterpreterwebhookconfiguration', 'lodestone'])
  const { stdout: manifests } = await run(process.execPath, [main, 'manifests', 'rbac', 'crds'])
  await plane.kubectl(['delete', '-f', '-'], { input: manifests })
  await hub.apply(policy('later'), deployment('later'))
  await hub.isOnlyIn(deployment('later'), 'member1,member2,member3')
})

async function start(distribution: 'builtin' | 'none'): Promise<Lodestone> {
  const lodestone = await startLodestone(plane, {
    ...{ kubeconfig, name: `lodestone-${distribution}` },
    config: { dependencies: { distribution }, placement: { releaseDelaySeconds: 1 } },
  })
  lodestones.push(lodestone)
  return lodestone
}

async function bindingsInYaml(): Promise<string> {
  return (await plane.kubectl(['get', bindings, '-A', '-o', 'yaml'])).stdout
}
