// Dependencies that no pod names follow their workload on a real Karmada: related objects, declared ones, and implicit ones.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiVersionOf } from '../../src/api/meta.ts'
import { clusterRoles, dependencyRoles } from '../../src/app/roles/rbac.ts'
import { buildWorkloadKinds } from '../../src/core/workload-kinds/kinds.ts'
import { buildRelatedKinds, RELATED_KIND_NAMES } from '../../src/core/workload-kinds/related-kinds.ts'
import type { KubeObject } from './api-client.ts'
import type { ControlPlane } from './control-plane.ts'
import { type Hub, startHub } from './hub.ts'
import { customResourceDefinition } from './interpreted-workloads.ts'
import { type Lodestone, startLodestone } from './lodestone.ts'
import {
  configMap,
  deployment,
  only,
  persistentVolumeClaim,
  policy,
  secret,
  service,
  serviceAccount,
} from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

const related = RELATED_KIND_NAMES
const enabled = buildRelatedKinds({ related, relatedKinds: [] })

const modes = [
  { distribution: 'karmada', gate: true },
  { distribution: 'builtin', gate: false },
]

describe.each(modes)('distributed by $distribution', ({ distribution, gate }) => {
  let plane: ControlPlane
  let hub: Hub
  let lodestone: Lodestone

  beforeAll(async () => {
    const started = await startHub({ propagateDeps: gate })
    plane = started.plane
    hub = started.hub
    const kinds = buildWorkloadKinds([], enabled)
    await plane.apply([...clusterRoles(kinds), ...dependencyRoles(kinds)] as KubeObject[])
    await plane.apply(
      enabled
        .filter(({ type }) => isCustom(type.group))
        .map(({ type }) =>
          customResourceDefinition({
            workload: { apiVersion: apiVersionOf(type), kind: type.kind },
            plural: type.plural,
          }),
        ),
    )
    await plane.crdsEstablished()
    // It looks for new kinds every thirty seconds only.
    await plane.restart('karmada-controller-manager')
    const { kubeconfig } = started
    lodestone = await startLodestone(plane, { kubeconfig, config: { dependencies: { distribution, related } } })
  })

  afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

  const labels = (name: string) => ({ matchLabels: { app: name } })
  const follows = (name: string, member: string) => policy(name, { placement: only(member), propagateDeps: true })

  describe('a related object follows its workload', () => {
    const kinds: [string, (name: string) => KubeObject[]][] = [
      [
        'HorizontalPodAutoscaler',
        (name) => [
          object('autoscaling/v2', 'HorizontalPodAutoscaler', name, {
            scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
            maxReplicas: 3,
          }),
        ],
      ],
      ['PodDisruptionBudget', (name) => [object('policy/v1', 'PodDisruptionBudget', name, { selector: labels(name) })]],
      [
        'NetworkPolicy',
        (name) => [
          object('networking.k8s.io/v1', 'NetworkPolicy', name, {
            podSelector: labels(name),
            policyTypes: ['Ingress'],
          }),
        ],
      ],
      [
        'ServiceMonitor',
        (name) => [
          object('monitoring.coreos.com/v1', 'ServiceMonitor', name, { selector: labels(name), endpoints: [] }),
          labeled(service(name, { of: name }), { app: name }),
        ],
      ],
      [
        'HTTPRoute',
        (name) => [
          object('gateway.networking.k8s.io/v1', 'HTTPRoute', name, { rules: [{ backendRefs: [{ name, port: 80 }] }] }),
          service(name, { of: name }),
        ],
      ],
    ]

    test.each(kinds)('a %s, also if it comes later, and until it relates no more', async (kind, make) => {
      const first = await comesLater(`late-${kind}`.toLowerCase(), make)

      const [other] = make('other') as [KubeObject]
      await hub.apply({ ...other, metadata: first.metadata })
      await hub.isOnlyIn(first, '')
    })

    test.each(kinds)('a %s that is there before moves with it', async (kind, make) => {
      const name = `early-${kind}`.toLowerCase()
      const needed = make(name)
      await hub.apply(...needed, follows(name, 'member1'), deployment(name))
      for (const one of needed) await hub.isOnlyIn(one, 'member1')

      await hub.apply(follows(name, 'member2'))
      for (const one of needed) await hub.isOnlyIn(one, 'member2')
    })

    test.each(kinds)('a %s that comes later moves with it, and is not deleted in between', async (kind, make) => {
      const name = `moved-${kind}`.toLowerCase()
      const first = await comesLater(name, make)

      await hub.apply(follows(name, 'member2'))

      // No agent executes deletions: what comes to a member, leaves it and comes back is in no member.
      await hub.isOnlyIn(first, 'member2')
    })

    /** Creates the objects after their workload is in member1, and returns the one that relates to it. */
    async function comesLater(name: string, make: (name: string) => KubeObject[]): Promise<KubeObject> {
      const workload = deployment(name)
      await hub.apply(follows(name, 'member1'), workload)
      await hub.isOnlyIn(workload, 'member1')
      const [first, ...rest] = make(name) as [KubeObject, ...KubeObject[]]
      await hub.apply(...rest, first)
      await hub.isOnlyIn(first, 'member1')
      return first
    }

    test('a RoleBinding of its ServiceAccount, and a declared Role', async () => {
      const account = serviceAccount('bound')
      const rbac = 'rbac.authorization.k8s.io'
      const role = { ...object(`${rbac}/v1`, 'Role', 'bound', {}), rules: [] } as KubeObject
      const binding = {
        ...object(`${rbac}/v1`, 'RoleBinding', 'bound', {}),
        subjects: [{ kind: 'ServiceAccount', name: 'bound', namespace: 'default' }],
        roleRef: { apiGroup: rbac, kind: 'Role', name: 'bound' },
      } as KubeObject
      const workload = dependsOn(deployment('bound', { needs: [account] }), [{ kind: 'Role', name: 'bound' }])
      await hub.apply(account, withoutSpec(role), withoutSpec(binding), follows('bound', 'member3'), workload)

      for (const needed of [account, role, binding]) await hub.isOnlyIn(needed, 'member3')
    })

    test('a SecretProviderClass that a volume names', async () => {
      const vault = object('secrets-store.csi.x-k8s.io/v1', 'SecretProviderClass', 'vault', { provider: 'vault' })
      const csi = { driver: 'secrets-store.csi.k8s.io', volumeAttributes: { secretProviderClass: 'vault' } }
      const workload = deployment('vault')
      const { template, ...spec } = workload.spec as { template: { spec: object } }
      const mounted = { ...template, spec: { ...template.spec, volumes: [{ name: 'secrets', csi }] } }
      await hub.apply(vault, follows('vault', 'member1'), { ...workload, spec: { ...spec, template: mounted } })

      await hub.isOnlyIn(vault, 'member1')
    })
  })

  describe('the annotation lodestone.dev/depends-on', () => {
    test('declares dependencies, and can be changed', async () => {
      const [one, two] = [configMap('declared-one'), secret('declared-two')]
      const workload = deployment('declared')
      await hub.apply(
        one,
        two,
        follows('declared', 'member1'),
        dependsOn(workload, [{ kind: 'ConfigMap', name: 'declared-one' }]),
      )
      await hub.isOnlyIn(one, 'member1')

      await hub.apply(dependsOn(workload, [{ kind: 'Secret', name: 'declared-two' }]))
      await hub.isOnlyIn(two, 'member1')
      await hub.isOnlyIn(one, '')
    })

    const pod = object('v1', 'Pod', 'wrong', { containers: [{ name: 'main', image: 'main:1' }] })
    const injected = (value: string) => labeled(pod, { 'lodestone.dev/inject': value })

    test.each([
      {
        of: 'a Deployment',
        workload: deployment('wrong'),
        declared: { kind: 'Secrets', name: 'a' },
        message: 'did you mean Secret?',
      },
      {
        of: 'a Deployment',
        workload: deployment('wrong'),
        declared: { kind: 'Secret', name: 'a', namespace: 'b' },
        message: 'is that of the workload; remove the field',
      },
      { of: 'a Pod', workload: pod, declared: { kind: 'Secret' }, message: 'depends-on][0].name: is required' },
      {
        of: 'a Pod with volumes',
        workload: injected('true'),
        declared: { kind: 'Secret' },
        message: '[0].name: is required',
      },
      {
        of: 'a Pod without volumes',
        workload: injected('false'),
        declared: { kind: 'Secret' },
        message: '[0].name: is required',
      },
    ])('of $of with $declared is refused', async ({ workload, declared, message }) => {
      const { stderr } = await plane.tryCreate(dependsOn(workload, [declared]))
      expect(stderr).toContain(message)
    })
  })

  describe('an implicit dependency', () => {
    test('the pull Secret of the ServiceAccount default follows, once the account has it', async () => {
      const pull = secret('registry')
      const workload = deployment('pulled')
      await hub.apply(pull, follows('pulled', 'member2'), workload)
      await hub.isOnlyIn(workload, 'member2')

      await hub.apply({ ...serviceAccount('default'), imagePullSecrets: [{ name: 'registry' }] })

      await plane.eventually('it follows', async () => (await hub.membersWith(pull)).includes('member2'))
    })

    test('a StatefulSet takes along the claim that it clones, and the Service of its pod', async () => {
      const golden = persistentVolumeClaim('golden')
      const first = service('first', { of: 'x' })
      const selector = { 'statefulset.kubernetes.io/pod-name': 'database-0' }
      const statefulSet = object('apps/v1', 'StatefulSet', 'database', {
        serviceName: 'database',
        selector: labels('database'),
        template: {
          metadata: { labels: { app: 'database' } },
          spec: { containers: [{ name: 'main', image: 'main:1' }] },
        },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: {
              accessModes: ['ReadWriteOnce'],
              resources: { requests: { storage: '1Gi' } },
              dataSource: { kind: 'PersistentVolumeClaim', name: 'golden' },
            },
          },
        ],
      })
      await hub.apply(
        golden,
        policy('database', { workload: statefulSet, placement: only('member3'), propagateDeps: true }),
        statefulSet,
      )
      await hub.isOnlyIn(golden, 'member3')

      await hub.apply({ ...first, spec: { ...(first.spec as object), selector } })
      await hub.isOnlyIn(first, 'member3')
    })
  })
})

function isCustom(group: string): boolean {
  return ['monitoring.coreos.com', 'gateway.networking.k8s.io', 'secrets-store.csi.x-k8s.io'].includes(group)
}

function object(apiVersion: string, kind: string, name: string, spec: object): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace: 'default' }, spec } as KubeObject
}

function withoutSpec({ spec: _, ...rest }: KubeObject): KubeObject {
  return rest as KubeObject
}

function labeled(given: KubeObject, labels: Record<string, string>): KubeObject {
  return { ...given, metadata: { ...given.metadata, labels } }
}

function dependsOn(given: KubeObject, declared: object[]): KubeObject {
  const annotations = { 'lodestone.dev/depends-on': JSON.stringify(declared) }
  return { ...given, metadata: { ...given.metadata, annotations } }
}
