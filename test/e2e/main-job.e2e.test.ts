// The main job on a real Karmada, as its users do it: with kubectl and karmadactl, and nothing else.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import { decideBinding } from '../../src/core/resource-binding/decide.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { gatherBindingInput } from '../../src/queries/binding.ts'
import { snapshotContext } from '../../src/store/snapshot/header.ts'
import { openSnapshotStore } from '../../src/store/snapshot/read-snapshot.ts'
import { snapshotKinds } from '../../src/store/snapshot/snapshot-kinds.ts'
import type { KubeObject } from './api-client.ts'
import { lodestoneOutput, runLodestone } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { customResourceDefinition } from './interpreted-workloads.ts'
import { createRegistrations, type Lodestone, lodestoneUser, startLodestone } from './lodestone.ts'
import {
  binding as bindingOf,
  claim,
  clusterPolicy,
  configMap,
  deployment,
  policy,
  source,
  yamlOf,
} from './manifests.ts'
import { settled } from './poll.ts'
import { stopAndCheckRights } from './rights.ts'

const bindings = 'resourcebindings.work.karmada.io'
// A test deletes it, and Lodestone may not create it.
const CONFIG = { claims: { clusterScoped: 'allowed' }, placement: { releaseDelaySeconds: 1 } }
const REGISTRATION_MISSING = 'MutatingWebhookConfiguration lodestone is missing'

let plane: ControlPlane
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane()
  const installed = await kubectl(['apply', '-f', '-'], await lodestoneOutput(['manifests', 'crds', 'rbac']))
  expect(installed.stderr, 'the CRDs are accepted without a warning').toBe('')
  await plane.crdsEstablished()
  await createRegistrations(plane)
  // The user is no administrator: it has only the rights that `lodestone manifests rbac` grants.
  const kubeconfig = await plane.kubeconfigFor(lodestoneUser)
  lodestone = await startLodestone(plane, { kubeconfig, config: CONFIG })
})

afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone], expected: REGISTRATION_MISSING }))

describe('1. a Deployment whose data is in one of three clusters', () => {
  beforeAll(async () => {
    await plane.create(
      claim('web', { data: 'web-data' }),
      source('web-data', ['member2']),
      configMap('web-settings'),
      policy('web', { propagateDeps: true }),
      deployment('web', { needs: [configMap('web-settings')] }),
    )
    await scheduled('web-deployment')
  })

  test('is scheduled there only', async () => {
    expect(await scheduled('web-deployment')).toEqual(['member2'])
  })

  test('has Work objects there only, and never had any elsewhere; so has its ConfigMap', async () => {
    await plane.eventually('both Works are made', async () => {
      const found = await worksOf('member2')
      return found.includes('Deployment/web') && found.includes('ConfigMap/web-settings')
    })
    // Without an execution controller a Work that ever was stays, marked as deleted: absence proves that there was none.
    for (const member of ['member1', 'member3']) {
      expect(await worksOf(member)).not.toContain('Deployment/web')
      expect(await worksOf(member)).not.toContain('ConfigMap/web-settings')
    }
  })

  test('was narrowed by the admission request that created it', async () => {
    await plane.eventually('the log says so', async () => {
      expect(await decisions('default/web-deployment')).toContainEqual({ operation: 'CREATE', decision: 'Narrowed' })
      return true
    })
    expect(await binding('web-deployment')).toMatchObject({
      metadata: {
        annotations: {
          'lodestone.dev/base-affinity': '{"clusterAffinity":{"clusterNames":["member1","member2","member3"]}}',
        },
      },
      spec: { placement: { clusterAffinity: { clusterNames: ['member2'] } } },
    })
  })

  test('is explained from the hub', async () => {
    const stdout = await lodestoneOutput(['explain', 'deployment/web', '--kubeconfig', plane.kubeconfig])

    expect(stdout).toContain('DataSourceClaim default/web (Required)')
    expect(stdout).toContain('located in member2')
    expect(stdout).toContain('ResourceBinding default/web-deployment: Narrowed')
    expect(stdout).toContain('scheduled to: member2')
  })

  test('has the same decision in a snapshot, which needs only rights to list and watch', async () => {
    const kinds = snapshotKinds(SHIPPED_KINDS)
    const rules = kinds.map(({ type: { group, plural } }) => ({
      apiGroups: [group],
      resources: [plural],
      verbs: ['list', 'watch'],
    }))
    const metadata = { name: 'snapshots' }
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'snapshots' }
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'snapshots' }]
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    await plane.create(
      { apiVersion, kind: 'ClusterRole', metadata, rules },
      { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef: role, subjects },
    )
    const kubeconfig = await plane.kubeconfigFor('snapshots')
    const file = join(plane.dir, 'fleet.lsnap')

    const stdout = await lodestoneOutput(['snapshot', '--kubeconfig', kubeconfig, '-o', file])

    expect(stdout).toMatch(/fleet.lsnap: \d+ objects/)
    const { store, header } = await openSnapshotStore({ file, signal: new AbortController().signal })
    expect(header).toMatchObject({ anonymous: false, unavailable: [] })
    const binding = store.get(resourceBindings, 'default', 'web-deployment') as ResourceBinding
    const now = Date.parse(header.takenAt)
    const decided = decideBinding(
      gatherBindingInput(binding, binding, { matrix: undefined, ...snapshotContext(header), store, now }),
    )
    expect(decided.state).toBe('Narrowed')
    // The loop has nothing to write: what it would write is what is there.
    expect(decided.binding).toBe(binding)
  })
})

test('check says against the hub that a changed claim moves a workload, as it does', async () => {
  await plane.create(
    claim('laid', { data: 'laid-data' }),
    source('laid-data', ['member2']),
    source('laid-elsewhere', ['member3']),
    policy('laid'),
    deployment('laid'),
  )
  await scheduled('laid-deployment')
  const changed = claim('laid', { data: 'laid-elsewhere' })
  const file = join(plane.dir, 'laid.yaml')
  await writeFile(file, yamlOf(changed))

  const stdout = await lodestoneOutput(['check', '-f', file, '--kubeconfig', plane.kubeconfig])

  expect(stdout).toContain('ResourceBinding default/laid-deployment: narrowed, and would move\n')
  expect(stdout).toMatch(/\n1 workload would move, 0 would wait, 0 unchanged\n$/)
  expect(await clustersOf('laid-deployment'), 'check changes nothing').toEqual(['member2'])
  await kubectl(['apply', '-f', file])
  await plane.eventually('it moves', async () => String(await clustersOf('laid-deployment')) === 'member3')
})

describe('workloads of other kinds', () => {
  const manager = { replicas: 1, resource: { cpu: 1, memory: '1Gi' } }
  const kinds = [
    {
      apiVersion: 'flink.apache.org/v1beta1',
      kind: 'FlinkDeployment',
      plural: 'flinkdeployments',
      word: 'flinkdep',
      // Karmada before 1.17 makes no binding for one without resources.
      spec: { jobManager: manager, taskManager: manager },
    },
    // An older version than the first one of the table of kinds.
    { apiVersion: 'ray.io/v1alpha1', kind: 'RayJob', plural: 'rayjobs', word: 'rayjobs.v1alpha1.ray.io', spec: {} },
  ]
  const objects = kinds.map(({ apiVersion, kind, plural, spec }) => ({
    apiVersion,
    kind,
    metadata: { name: plural, namespace: 'default' },
    spec,
  }))

  beforeAll(async () => {
    await plane.create(...kinds.map(({ plural, ...workload }) => customResourceDefinition({ plural, workload })))
    await plane.crdsEstablished()
    // It looks for new kinds every thirty seconds only.
    await plane.restart('karmada-controller-manager')
    for (const workload of objects) {
      const { name } = workload.metadata
      const data = `${name}-data`
      const selecting = policy(name, { workload, propagateDeps: true })
      await plane.create(claim(name, { data, workload }), source(data, ['member3']), selecting, workload)
    }
  })

  test.each(kinds)('$kind: explain finds the policy by the API version', async ({ apiVersion, kind, plural, word }) => {
    const name = `${plural}-${kind.toLowerCase()}`
    await settledBinding(name)

    // The members do not serve the kind, so Karmada's scheduler would choose none of them.
    const { code, stdout } = await explain(`${word}/${plural}`)

    expect(code).toBe(0)
    expect(stdout.replace(/id: [0-9a-f]{10}\n/, 'id: ID\n')).toBe(`${kind} default/${plural}
├─ DataSourceClaim default/${plural} (Required): static bucket ${plural}-data
│  └─ DataSource ${plural}-data: located in member3
├─ PropagationPolicy default/${plural}: member1, member2, member3
│  └─ dependencies follow: propagateDeps is set
└─ ResourceBinding default/${name}: OnHold
   ├─ default/${plural} (member3): member3 does not serve ${apiVersion} ${kind}
   ├─ decision id: ID
   ├─ before: member1, member2, member3
   ├─ after:  no cluster, until the hold ends
   └─ scheduled to: none yet
`)
  })

  test('an object that does not exist is reported with a similar name', async () => {
    const want = 'lodestone explain: RayJob default/rayjos not found on this API server (did you mean rayjobs?)\n'

    expect(await explain('rayjob/rayjos')).toEqual({ code: 1, stdout: '', stderr: want })
  })

  const explain = (target: string) => runLodestone(['explain', target, '--kubeconfig', plane.kubeconfig])
})

describe('2. the same by other means', () => {
  test('karmadactl', async () => {
    const input = yamlOf(
      claim('ctl', { data: 'ctl-data' }),
      source('ctl-data', ['member3']),
      policy('ctl'),
      deployment('ctl'),
    )

    await plane.karmadactl(['apply', '-f', '-'], { input })

    expect(await scheduled('ctl-deployment')).toEqual(['member3'])
  })

  test('a ClusterPropagationPolicy with a Deployment', async () => {
    await plane.create(
      claim('cpp', { data: 'cpp-data' }),
      source('cpp-data', ['member1']),
      clusterPolicy('cpp', deployment('cpp')),
      deployment('cpp'),
    )

    expect(await scheduled('cpp-deployment')).toEqual(['member1'])
  })

  test('a ClusterPropagationPolicy with a cluster-scoped resource', async () => {
    const role: KubeObject = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'reader' },
      rules: [],
    }

    await plane.create(
      claim('reader', { data: 'role-data', workload: role }),
      source('role-data', ['member3']),
      clusterPolicy('reader', role),
      role,
    )

    expect(await scheduled('reader-clusterrole', undefined, 'clusterresourcebindings.work.karmada.io')).toEqual([
      'member3',
    ])
  })
})

test('a claim of another namespace is rejected with the command that allows it', async () => {
  const everywhere = { clusterNames: ['member1', 'member2', 'member3'] }
  const { spec, ...rest } = claim('shared', { data: 'shared-data', namespace: 'tenant' })
  const foreign = { ...rest, spec: { ...spec, workload: { ...(spec['workload'] as object), namespace: 'default' } } }
  const allow = ['annotate', 'namespace', 'default', 'lodestone.dev/allow-claims-from=tenant']
  const propagates = async () => {
    const found = await plane.getJson('propagationpolicies.policy.karmada.io', 'shared', 'default')
    return (found as { spec: { propagateDeps?: boolean } } | undefined)?.spec.propagateDeps
  }
  const isNarrowedTo = (want: { clusterNames: string[] }) =>
    plane.eventually(`the affinity is ${want.clusterNames}`, async () => {
      expect(await affinity('shared-deployment')).toEqual(want)
      return true
    })
  await kubectl(['create', 'namespace', 'tenant'])
  await plane.create(source('shared-data', ['member3']), policy('shared'), deployment('shared'))
  await scheduled('shared-deployment')

  const { stderr } = await plane.tryCreate(foreign)
  expect(stderr).toContain('namespace default does not allow claims of namespace tenant')
  expect(stderr).toContain(`kubectl ${allow.join(' ')}`)
  expect(await affinity('shared-deployment')).toEqual(everywhere)
  expect(await propagates()).toBe(undefined)

  await kubectl(allow)
  await plane.eventually('admission has seen the annotation', async () => {
    await plane.create(foreign)
    return true
  })
  await isNarrowedTo({ clusterNames: ['member3'] })
  await plane.eventually('its dependencies follow', propagates)

  await kubectl(['annotate', 'namespace', 'default', 'lodestone.dev/allow-claims-from-'])
  await isNarrowedTo(everywhere)
  const condition = '{.status.conditions[?(@.type=="Bound")].reason}'
  const words = ['get', 'datasourceclaim', 'shared', '--namespace', 'tenant', '--output', `jsonpath=${condition}`]
  await plane.eventually('its status says so', async () => (await kubectl(words)).stdout === 'NotPermitted')
})

describe('3. the narrowing stays', () => {
  test('when the template is scaled', async () => {
    await placeByData('scaled')

    await kubectl(['scale', 'deployment', 'scaled', '--replicas=3'])

    await plane.eventually('the scheduler gives member2 three replicas', async () => {
      const { clusters } = (await binding('scaled-deployment')).spec
      return JSON.stringify(clusters) === JSON.stringify([{ name: 'member2', replicas: 3 }])
    })
    expect(await affinity('scaled-deployment')).toEqual({ clusterNames: ['member2'] })
  })

  test('when the policy is edited, whose new placement becomes the base', async () => {
    await placeByData('edited')

    const patch = '{"spec":{"placement":{"clusterAffinity":{"clusterNames":["member1","member2"]}}}}'
    await kubectl(['patch', 'propagationpolicy', 'edited', '--type=merge', '-p', patch])

    await plane.eventually('the new base is recorded', async () => {
      const { annotations = {} } = (await binding('edited-deployment')).metadata
      return annotations['lodestone.dev/base-affinity'] === '{"clusterAffinity":{"clusterNames":["member1","member2"]}}'
    })
    expect(await affinity('edited-deployment')).toEqual({ clusterNames: ['member2'] })
    expect(await scheduled('edited-deployment')).toEqual(['member2'])
  })

  test('when the controller-manager is restarted once, and again without a write', async () => {
    await placeByData('resent')
    await kubectl(['scale', 'deployment', 'resent', '--replicas=3'])
    await plane.eventually(
      'its status is aggregated',
      async () => (await binding('resent-deployment')).status?.aggregatedStatus,
    )

    const before = await settledBinding('resent-deployment')
    await restartControllerManager('default/resent-deployment')
    // kube-apiserver orders managedFields by time, and the detector's PUT, which we narrow back, may become the latest: bookkeeping.
    const after = await settledBinding('resent-deployment')
    expect(withoutBookkeeping(after)).toEqual(withoutBookkeeping(before))

    await restartControllerManager('default/resent-deployment')
    const again = await settledBinding('resent-deployment')
    expect(writesOf(again)).toEqual(writesOf(after))
  })

  /** Creates a workload that is scheduled to its data in member2. */
  async function placeByData(name: string): Promise<void> {
    const data = `${name}-data`
    await plane.create(claim(name, { data }), source(data, ['member2']), policy(name), deployment(name))
    expect(await scheduled(`${name}-deployment`)).toEqual(['member2'])
  }
})

test('4. preferred data is tried first, and a taint there does not stop the workload', async () => {
  await plane.taintCluster('member2', { key: 'maintenance', effect: 'NoSchedule' })
  try {
    await plane.create(
      claim('prefer', { data: 'prefer-data', policy: { enforcement: 'Preferred' } }),
      source('prefer-data', ['member2']),
      policy('prefer', {
        placement: {
          clusterAffinities: [
            { affinityName: 'primary', clusterNames: ['member1', 'member2'] },
            { affinityName: 'backup', clusterNames: ['member3'] },
          ],
          replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' },
        },
      }),
      deployment('prefer'),
    )
    expect(await scheduled('prefer-deployment')).toEqual(['member1'])
  } finally {
    await plane.untaintCluster('member2', 'maintenance')
  }
  expect((await binding('prefer-deployment')).spec.placement).toMatchObject({
    clusterAffinities: [
      { affinityName: 'primary-local', clusterNames: ['member2'] },
      { affinityName: 'primary', clusterNames: ['member1', 'member2'] },
      { affinityName: 'backup', clusterNames: ['member3'] },
    ],
  })
})

test('5. two claims without a common cluster hold the workload, with a condition', async () => {
  await plane.create(
    claim('torn', { data: 'torn-left' }),
    claim('torn-too', { data: 'torn-right', workload: deployment('torn') }),
    source('torn-left', ['member1']),
    source('torn-right', ['member3']),
    policy('torn'),
    deployment('torn'),
  )

  const held = await plane.eventually('the binding is made', () =>
    plane.getJson(bindings, 'torn-deployment', 'default'),
  )
  expect(held).toMatchObject({ spec: { suspension: { scheduling: true } } })
  // The reason is another one while Lodestone has not cached all claims and sources.
  await plane.eventually('it says why', async () => {
    const { stdout } = await kubectl(['describe', 'rb', 'torn-deployment'])
    expect(stdout).toContain('default/torn (member1) and default/torn-too (member3): no cluster holds all of the data')
    return true
  })

  // Another binding that comes later is scheduled: had this one been queued, it would have been its turn first.
  await plane.create(policy('torn-after'), deployment('torn-after'))
  await scheduled('torn-after-deployment')
  expect(await clustersOf('torn-deployment')).toEqual([])
  for (const member of ['member1', 'member2', 'member3']) expect(await worksOf(member)).not.toContain('Deployment/torn')
  // A scheduler that had queued it before the hold writes clusters all the same.
  const clusters = '{"spec":{"clusters":[{"name":"member1"}]}}'
  const patch = ['patch', 'rb', 'torn-deployment', '--type=merge', '-p', clusters]
  const refused = await plane.kubectl(patch, { allowFailure: true })
  expect(refused.stderr).toContain(
    'spec.clusters: cannot be set while Lodestone has the workload on hold (Unsatisfiable: ',
  )

  await kubectl([
    'patch',
    'datasource',
    'torn-right',
    '--type=merge',
    '-p',
    '{"spec":{"locality":{"clusterNames":["member1","member3"]}}}',
  ])
  await kubectl(['annotate', 'deployment', 'torn', 'touched=true'])
  expect(await scheduled('torn-deployment')).toEqual(['member1'])
  expect((await binding('torn-deployment')).metadata.annotations?.['lodestone.dev/hold']).toBeUndefined()
})

test('6. a cluster that joins is eligible when the data is there, at the next write', async () => {
  await plane.create(
    claim('join', { data: 'join-data' }),
    source('join-data', ['member2']),
    policy('join', { placement: {} }),
    deployment('join'),
  )
  expect(await scheduled('join-deployment')).toEqual(['member2'])

  await plane.addCluster('member4', { region: 'eu-north' })
  await kubectl(['annotate', 'deployment', 'join', 'touched=once'])
  await plane.eventually(
    'the template is written again',
    async () => (await decisions('default/join-deployment')).length >= 3,
  )
  expect(await scheduled('join-deployment')).toEqual(['member2'])

  await kubectl([
    'patch',
    'ds.v1alpha1.datadependency.volcano.sh',
    'join-data',
    '--type=merge',
    '-p',
    '{"spec":{"locality":{"clusterNames":["member4"]}}}',
  ])
  await kubectl(['annotate', 'deployment', 'join', 'touched=twice', '--overwrite'])
  await plane.eventually('it moves', async () => (await clustersOf('join-deployment')).join() === 'member4')
})

describe('7. dry runs and server-side apply', () => {
  test('kubectl create --dry-run=server shows the narrowing and changes nothing', async () => {
    await plane.create(claim('dry', { data: 'dry-data' }), source('dry-data', ['member3']))

    // It does not before Lodestone has cached the claim and its source.
    await plane.eventually('the narrowing is shown', async () => {
      const { stdout } = await kubectl(
        ['create', '--dry-run=server', '-o', 'json', '-f', '-'],
        yamlOf(bindingOf('dry')),
      )
      expect(JSON.parse(stdout).spec.placement).toEqual({ clusterAffinity: { clusterNames: ['member3'] } })
      return true
    })
    expect(await plane.getJson(bindings, 'dry-deployment', 'default')).toBeUndefined()
  })

  test('kubectl apply --server-side places a workload like any other', async () => {
    const objects = [
      claim('ssa', { data: 'ssa-data' }),
      source('ssa-data', ['member1']),
      policy('ssa'),
      deployment('ssa'),
    ]

    await kubectl(['apply', '--server-side', '-f', '-'], yamlOf(...objects))
    const again = await kubectl(['apply', '--server-side', '-f', '-'], yamlOf(...objects))

    expect(again.stderr).not.toContain('conflict')
    expect(await scheduled('ssa-deployment')).toEqual(['member1'])
  })

  test('kubectl apply --server-side of a binding keeps the narrowing, time after time', async () => {
    await plane.create(claim('ssb', { data: 'ssb-data' }), source('ssb-data', ['member1']))

    await kubectl(['apply', '--server-side', '-f', '-'], yamlOf(bindingOf('ssb')))
    await plane.eventually('it is narrowed', async () => {
      expect(await affinity('ssb-deployment')).toEqual({ clusterNames: ['member1'] })
      return true
    })
    await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], yamlOf(bindingOf('ssb')))

    expect(await affinity('ssb-deployment')).toEqual({ clusterNames: ['member1'] })
  })
})

test('8. while Lodestone is away only enforced namespaces are rejected, then both work', async () => {
  await plane.create({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'enforced', labels: { 'lodestone.dev/enforce': 'true' } },
  })
  const away = { namespace: 'enforced' }
  await plane.create(
    claim('away', { data: 'away-data', ...away }),
    source('away-data', ['member2']),
    policy('away', away),
  )
  await lodestone.stop()

  await plane.create(policy('free'), deployment('free'))
  expect(await scheduled('free-deployment')).toEqual(['member1', 'member2', 'member3'])

  const refused = await plane.tryCreate(bindingOf('away', away))
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('resource-binding.enforced.lodestone.dev')
  await plane.create(deployment('away', away))

  await lodestone.restart()
  expect(await scheduled('away-deployment', 'enforced')).toEqual(['member2'])
  await plane.create(
    claim('free-later', { data: 'free-data' }),
    source('free-data', ['member1']),
    policy('free-later'),
    deployment('free-later'),
  )
  expect(await scheduled('free-later-deployment')).toBeDefined()
})

test('9. an invalid claim is refused with every reason', async () => {
  const invalid = claim('invalid', { data: ' padded', policy: { enforcement: 'Preferred', holdTimeoutSeconds: 5 } })
  const wrong = {
    ...invalid,
    spec: { ...invalid.spec, workload: { apiVersion: 'apps', kind: 'deployment', name: 'a/b' } },
  }

  const refused = await plane.tryCreate(wrong)

  expect(refused.code).not.toBe(0)
  for (const path of [
    'spec.dataSourceName',
    'spec.workload.apiVersion',
    'spec.workload.kind',
    'spec.workload.name',
    'spec.policy.holdTimeoutSeconds',
  ]) {
    expect(refused.stderr).toContain(path)
  }
})

describe('what else a user relies on', () => {
  test('kubectl get shows clusters, sizes and ages, and kubectl explain the resources', async () => {
    const data = source('listed-data', ['member1', 'member2'])
    const locality = { clusterNames: ['member1', 'member2'], bytes: 5 * 1024 ** 3 }
    const volume = {
      id: 'vol1',
      replicas: 1,
      sourceType: 'S3',
      accessMode: 'ReadWriteOnce',
      capacity: '5Gi',
      labels: { team: 'shop' },
      options: { sourceURL: 's3://lake/sales/', awsCredentialsSecretName: '' },
    }
    await plane.create(
      claim('listed', { data: 'listed-data' }),
      { ...data, spec: { ...data.spec, locality } } as KubeObject,
      {
        apiVersion: 'vck.intelai.org/v1alpha1',
        kind: 'VolumeManager',
        metadata: { name: 'listed' },
        spec: { volumeConfigs: [volume] },
      },
    )
    await kubectl(['wait', '--for=condition=Resolved', 'dsc/listed', '--timeout=30s'])
    await kubectl(['wait', '--for=jsonpath={.status.size}=5.0Gi', 'datasources/listed-data', '--timeout=30s'])

    const claims = (await kubectl(['get', 'dsc', 'listed', '-o', 'wide'])).stdout
    expect(claims).toMatch(/^NAME +SYSTEM +DATA +WORKLOAD +PHASE +PLACED +MESSAGE +AGE +SINCE +KIND +SOURCE\n/)
    expect(claims).toMatch(/ Bound +the data is in member1, member2 +\d+s +\d+s +Deployment +listed-data\n$/)
    const sources = (await kubectl(['get', 'datasources', 'listed-data'])).stdout
    expect(sources).toMatch(/^NAME +SYSTEM +DATA +CLUSTERS +SIZE +PHASE +CLAIMS +RESOLVED +AGE\n/)
    expect(sources).toMatch(/ member1,member2 +5\.0Gi +Available +1 +\d+s\n$/)
    const managers = (await kubectl(['get', 'dsc,datasources,vmgr', '-o', 'wide'])).stdout
    expect(managers).toMatch(/^NAME +STATE +READY +REPLICAS +SIZE +MESSAGE +AGE +NODES$/m)
    expect((await kubectl(['explain', 'dsc.spec.policy.rebalance'])).stdout).toContain(
      'Whether a scheduled workload moves after its data',
    )
  })

  test('kubectl wait is right after a change: conditions have their generation', async () => {
    await plane.create(claim('awaited', { data: 'awaited-data' }), source('awaited-data', ['member1']))
    await kubectl(['wait', '--for=condition=Ready', 'datasources/awaited-data', '--timeout=30s'])

    await kubectl(['patch', 'datasources', 'awaited-data', '--type=merge', '-p', '{"spec":{"reclaimPolicy":"Retain"}}'])
    await kubectl(['wait', '--for=condition=Ready', 'datasources/awaited-data', '--timeout=30s'])

    const { metadata, status } = JSON.parse(
      (await kubectl(['get', 'datasources', 'awaited-data', '-o', 'json'])).stdout,
    )
    expect(metadata.generation).toBeGreaterThan(1)
    expect(status.conditions).toMatchObject([{ type: 'Ready', observedGeneration: metadata.generation }])
  })

  test('the log says that no feature is missing, as read with the installed rights', async () => {
    await plane.eventually('the log says so', async () => {
      expect(await lodestone.readLog()).toContain('the API server has all features')
      return true
    })
    expect(await lodestone.metric('lodestone_missing_features')).toBe(0)
  })

  test('a registration that was emptied is filled in again', async () => {
    const name = 'mutatingwebhookconfiguration'
    await kubectl(['patch', name, 'lodestone', '--type=merge', '-p', '{"webhooks": []}'])

    await isRegisteredAgain()
  })

  test('a deleted registration is named in the log with the command that creates it', async () => {
    await kubectl(['delete', 'mutatingwebhookconfiguration', 'lodestone'])
    await plane.eventually(
      'the log names it',
      async () => (await lodestone.readLog()).includes(REGISTRATION_MISSING),
      30_000,
    )
    expect(await lodestone.readLog()).toContain('lodestone manifests registration | kubectl apply -f -')

    await createRegistrations(plane)

    await isRegisteredAgain()
  })
})

/** Waits for the registration, and until the API server has heard of it. */
async function isRegisteredAgain(): Promise<void> {
  await plane.eventually(
    'it is registered again',
    async () => {
      const configuration = await plane.getJson('mutatingwebhookconfigurations', 'lodestone')
      return ((configuration as { webhooks?: unknown[] } | undefined)?.webhooks ?? []).length > 0
    },
    30_000,
  )
  const reviews = () => lodestone.metric('controller_runtime_webhook_requests_total', 'webhook="resource-binding"')
  const before = await reviews()
  await plane.eventually('a binding is reviewed', async () => {
    await kubectl(['create', '--dry-run=server', '-f', '-'], yamlOf(bindingOf('asked')))
    return (await reviews()) > before
  })
}

/** Ends when the detector has sent the binding again, as it does with every binding when it starts. */
async function restartControllerManager(key: string): Promise<void> {
  const reviews = (await decisions(key)).length
  await plane.restart('karmada-controller-manager')
  await plane.eventually('the detector sends it again', async () => (await decisions(key)).length > reviews, 60_000)
}

// The first tested minor version whose API server does not write a custom resource for new times in its managedFields.
const IGNORES_TIMES_SINCE = 31

/** Returns the part of a binding that is the same if it was not written; for older versions, if only managedFields were written. */
function writesOf(found: BindingObject): unknown {
  return plane.kubernetesMinor < IGNORES_TIMES_SINCE ? withoutBookkeeping(found) : found.metadata['resourceVersion']
}

function withoutBookkeeping({ metadata, ...object }: BindingObject): object {
  const { managedFields: _fields, resourceVersion: _version, ...kept } = metadata
  return { ...object, metadata: kept }
}

interface BindingObject extends KubeObject {
  spec: {
    clusters?: { name: string; replicas?: number }[]
    placement?: { clusterAffinity?: unknown; clusterAffinities?: unknown[] }
  }
  status?: { aggregatedStatus?: object[] }
}

function kubectl(args: string[], input?: string) {
  return plane.kubectl(args, input === undefined ? {} : { input })
}

async function binding(name: string, namespace = 'default'): Promise<BindingObject> {
  return plane.eventually(`${name} exists`, () => plane.getJson(bindings, name, namespace)) as Promise<BindingObject>
}

async function settledBinding(name: string): Promise<BindingObject> {
  return settled(`the binding ${name}`, () => binding(name))
}

async function affinity(name: string): Promise<unknown> {
  return (await binding(name)).spec.placement?.clusterAffinity
}

async function clustersOf(name: string): Promise<string[]> {
  return ((await binding(name)).spec.clusters ?? []).map((cluster) => cluster.name).sort()
}

async function scheduled(
  name: string,
  namespace: string | undefined = 'default',
  resource = bindings,
): Promise<string[]> {
  const scope = resource === bindings ? namespace : undefined
  const clusters = await plane.eventually(
    `${name} is scheduled`,
    async () => ((await plane.getJson(resource, name, scope)) as BindingObject | undefined)?.spec.clusters,
    60_000,
  )
  return clusters.map((cluster) => cluster.name).sort()
}

/** `Kind/name` of everything in a member's Works. */
async function worksOf(member: string): Promise<string[]> {
  const works = (await plane.listJson('works.work.karmada.io', `karmada-es-${member}`)) as (KubeObject & {
    spec: { workload: { manifests: KubeObject[] } }
  })[]
  return works.flatMap(({ spec }) => spec.workload.manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`))
}

/** What Lodestone's log says it decided for a binding, in order. */
async function decisions(key: string): Promise<{ operation: string; decision: string | undefined }[]> {
  // The last line may not be there whole.
  const lines = (await lodestone.readLog()).split('\n').slice(0, -1)
  return lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ msg, object }) => msg === 'reviewed' && object === `ResourceBinding ${key}`)
    .map(({ operation, decision }) => ({ operation, decision }))
}
