// What stands for a workload's data follows it as well, to members that know such things: its claims and its VolumeManagers.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type Hub, hubOn } from './hub.ts'
import { installLodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, policy, secret, source } from './manifests.ts'
import { memberClusters } from './member-clusters.ts'

const apis = {
  'datadependency.volcano.sh/v1alpha1': { datasourceclaims: 'DataSourceClaim' },
  'vck.intelai.org/v1alpha1': { volumemanagers: 'VolumeManager' },
}

let plane: ControlPlane
let hub: Hub

beforeAll(async () => {
  const clusters = Object.entries(memberClusters).map(([name, cluster]) => [name, { ...cluster, apis }])
  plane = await startControlPlane({ clusters: Object.fromEntries(clusters) })
  hub = hubOn(plane)
  const kubeconfig = await installLodestone(plane)
  await startLodestone(plane, { kubeconfig })
})

afterAll(async () => {
  await plane?.stopAll()
})

// Together: each waits 10 s for its VolumeManager to have a policy.
test.concurrent('a claim, a VolumeManager and its Secret are where the workload is', async () => {
  const password = secret('bucket-password')
  const data = volumeManager('training-data', password)
  const workload = deployment('trainer')
  const template = workload.spec['template'] as { metadata: { annotations?: Record<string, string> } }
  template.metadata.annotations = { 'lodestone.dev/volumes': '{"name":"training-data"}' }
  const claimed = claim('trainer', { data: 'table' })

  await hub.apply(source('table', ['member2']), claimed, password, data, workload)
  await plane.eventually('Lodestone knows the claim', async () => {
    return (await plane.getJson('datasourceclaims', claimed.metadata.name, 'default'))?.['status']
  })
  const { stderr } = await hub.apply(policy('trainer'))

  expect(stderr).toContain('propagateDeps set')
  for (const one of [workload, claimed, data, password]) await hub.isOnlyIn(one, 'member2')
})

test.concurrent('a workload that names a VolumeManager makes its policy propagate without a claim', async () => {
  const data = volumeManager('other-data', secret('other-password'))
  const workload = deployment('reader')
  const template = workload.spec['template'] as { metadata: { annotations?: Record<string, string> } }
  template.metadata.annotations = { 'lodestone.dev/volumes': '[{"name":"other-data"}]' }

  await hub.apply(data, workload, policy('reader'))

  await hub.isOnlyIn(data, 'member1,member2,member3')
})

function volumeManager(name: string, credentials: KubeObject): KubeObject {
  const options = { awsCredentialsSecretName: credentials.metadata.name, sourceURL: 's3://bucket/data/' }
  return {
    apiVersion: 'vck.intelai.org/v1alpha1',
    kind: 'VolumeManager',
    metadata: { name, namespace: 'default' },
    spec: {
      volumeConfigs: [
        { id: 'vol1', sourceType: 'S3', replicas: 1, accessMode: 'ReadWriteOnce', labels: { team: 'ml' }, options },
      ],
    },
  }
}
