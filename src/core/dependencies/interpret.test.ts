import { describe, expect, test } from 'vitest'
import { NOTHING_RELATED } from '../../../test/builders.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { type ServiceAccount, services } from '../../api/dependencies.ts'
import { apiVersionOf, type K8sObject } from '../../api/meta.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { defined } from '../../base/json.ts'
import { matchesLabels } from '../../base/selectors.ts'
import { buildWorkloadKinds, SHIPPED_KINDS } from '../workload-kinds/kinds.ts'
import { buildRelatedKinds, RELATED_KIND_NAMES } from '../workload-kinds/related-kinds.ts'
import { interpretDependencies } from './interpret.ts'
import { referenceKeys } from './keys.ts'
import { neverPropagated } from './never-propagated.ts'
import { withoutOrdinals } from './pod-labels.ts'
import type { RelatedObjects } from './related.ts'
import { type RelatedObject, relationsOf, selectsAny, targets } from './relations.ts'
import { interpretWorkload, type Workload } from './workload.ts'

interface Template {
  labels?: Record<string, string>
  volumes?: string
  spec?: object
}

/** A Deployment `shop/app`; or, with several templates, a Volcano Job. */
function workload(...templates: Template[]): Workload {
  const metadata = { name: 'app', namespace: 'shop' }
  const pods = templates.map(({ labels, volumes, spec }) => ({
    metadata: { labels, ...defined({ annotations: volumes ? { 'lodestone.dev/volumes': volumes } : undefined }) },
    spec,
  }))
  const object =
    pods.length === 1
      ? { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template: pods[0] } }
      : {
          apiVersion: 'batch.volcano.sh/v1alpha1',
          kind: 'Job',
          metadata,
          spec: { tasks: pods.map((template) => ({ template })) },
        }
  return interpretWorkload(object, SHIPPED_KINDS)
}

function service(name: string, selector?: Record<string, string>) {
  return {
    apiVersion: 'v1',
    kind: services.kind,
    metadata: { name, namespace: 'shop' },
    spec: defined({ selector }),
  }
}

function ingress(name: string, to: string, ...tls: string[]): Workload {
  const spec = { defaultBackend: { service: { name: to } }, tls: tls.map((secretName) => ({ secretName })) }
  return interpretWorkload(
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name, namespace: 'shop' },
      spec,
    } as K8sObject,
    SHIPPED_KINDS,
  )
}

/** The objects in the namespace `shop`. */
interface Surroundings {
  services?: ReturnType<typeof service>[]
  ingresses?: Workload[]
  related?: RelatedObject[]
  accounts?: ServiceAccount[]
  managers?: VolumeManager[]
  claims?: K8sObject[]
  served?: string[]
}

function surroundedBy(around: Surroundings): RelatedObjects {
  const inShop = <T extends K8sObject>(objects: T[] = [], namespace: string, name: string) =>
    objects.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  return {
    servicesFor: (namespace, labels) =>
      (around.services ?? []).filter(
        ({ metadata, spec }) =>
          metadata.namespace === namespace && spec.selector && matchesLabels({ matchLabels: spec.selector }, labels),
      ),
    relatedTo: (namespace, to) =>
      (around.related ?? []).filter(
        ({ metadata, relations }) =>
          metadata.namespace === namespace &&
          (to.named.some((one) => targets(relations, one)) ||
            selectsAny(relations.podSelectors, to.podLabels) ||
            selectsAny(relations.serviceSelectors, to.serviceLabels)),
      ),
    ingressesOf: (namespace, name) =>
      (around.ingresses ?? []).filter(
        ({ metadata, dependencies }) => metadata.namespace === namespace && dependencies.backends.includes(name),
      ),
    serviceAccount: (namespace, name) => inShop(around.accounts, namespace, name),
    volumeManager: (namespace, name) => inShop(around.managers, namespace, name),
    claimsOf: () => around.claims ?? [],
    isNeverPropagated: neverPropagated(),
    memberServes: ({ kind }) => (around.served ?? []).includes(kind),
  }
}

function dependencies(of: Workload, around: Surroundings = {}): string[] {
  return interpretDependencies(of, surroundedBy(around)).map(
    ({ kind, namespace, name }) => `${kind} ${namespace}/${name}`,
  )
}

const account = (name: string, ...secrets: string[]): ServiceAccount => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace: 'shop' },
  imagePullSecrets: secrets.map((secret) => ({ name: secret })),
})

const manager = (name: string, ...options: Record<string, string>[]): VolumeManager => ({
  apiVersion: 'vck.intelai.org/v1alpha1',
  kind: 'VolumeManager',
  metadata: { name, namespace: 'shop' },
  spec: { volumeConfigs: options.map((one, i) => ({ id: `vol${i}`, sourceType: 'S3', options: one })) },
})

const claim = (name: string, namespace = 'shop'): K8sObject => ({
  apiVersion: 'datadependency.volcano.sh/v1alpha1',
  kind: 'DataSourceClaim',
  metadata: { name, namespace },
})

test('a workload depends on the objects that it names', () => {
  const dataSource = { kind: 'PersistentVolumeClaim', name: 'golden' }
  const app = workload({
    labels: { app: 'x' },
    volumes: '{"name":"sales"}',
    spec: {
      serviceAccountName: 'sa',
      volumes: [{ ephemeral: { volumeClaimTemplate: { spec: { dataSource } } } }, { configMap: { name: 'config' } }],
    },
  })
  expect(interpretDependencies(app, NOTHING_RELATED)).toEqual([
    { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'config' },
    { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'shop', name: 'golden' },
    { apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'shop', name: 'sa' },
  ])
})

test('only KServe reads the Secrets of a ServiceAccount besides its pull Secrets', () => {
  const spec = { predictor: { serviceAccountName: 'reader' } }
  const metadata = { name: 'iris', namespace: 'shop' }
  const service = interpretWorkload(
    {
      apiVersion: 'serving.kserve.io/v1beta1',
      kind: 'InferenceService',
      metadata,
      spec,
    } as K8sObject,
    SHIPPED_KINDS,
  )
  const app = workload({ spec: { serviceAccountName: 'reader' } })
  const around = { accounts: [{ ...account('reader', 'pull'), secrets: [{ name: 's3' }, {}] }] }
  expect(dependencies(service, around)).toEqual(['Secret shop/pull', 'Secret shop/s3', 'ServiceAccount shop/reader'])
  expect(dependencies(app, around)).toEqual(['Secret shop/pull', 'ServiceAccount shop/reader'])
})

test('a workload that names nothing depends on nothing', () => {
  expect(interpretDependencies(workload({}), NOTHING_RELATED)).toEqual([])
})

describe('Services and Ingresses', () => {
  test('a Service follows its pods, and an Ingress with its certificates the Service', () => {
    const around = {
      services: [service('web', { app: 'x' }), service('other', { app: 'y' }), service('external')],
      ingresses: [ingress('site', 'web', 'cert', 'pull'), ingress('elsewhere', 'other', 'other-cert')],
    }
    const app = workload({ labels: { app: 'x', tier: 'front' }, spec: { imagePullSecrets: [{ name: 'pull' }] } })
    expect(dependencies(app, around)).toEqual([
      'Ingress shop/site',
      'Secret shop/cert',
      'Secret shop/pull',
      'Service shop/web',
    ])
    expect(interpretDependencies(app, surroundedBy(around))).toContainEqual({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      namespace: 'shop',
      name: 'site',
    })
  })

  test('each pod template is read, and each dependency is listed once', () => {
    const around = {
      services: [service('all', { job: 'j' }), service('ps', { role: 'ps' })],
      ingresses: [ingress('site', 'all')],
    }
    const job = workload({ labels: { job: 'j', role: 'ps' } }, { labels: { job: 'j', role: 'worker' } })
    expect(dependencies(job, around)).toEqual(['Ingress shop/site', 'Service shop/all', 'Service shop/ps'])
  })

  test('no Service selects pods without labels', () => {
    expect(dependencies(workload({}), { services: [service('web', { app: 'x' })] })).toEqual([])
  })
})

describe('ServiceAccounts', () => {
  const app = workload({ spec: { serviceAccountName: 'sa' } })

  test('add the Secrets for pulling images', () => {
    const accounts = [account('sa', 'pull', ''), account('other', 'other-pull')]
    expect(dependencies(app, { accounts })).toEqual(['Secret shop/pull', 'ServiceAccount shop/sa'])
  })

  test('are listed even if they do not exist', () => {
    expect(dependencies(app)).toEqual(['ServiceAccount shop/sa'])
  })
})

describe('VolumeManagers', () => {
  const app = workload({ volumes: '[{"name":"sales"},{"name":"gone"}]' })
  const managers = [
    manager('sales', { awsCredentialsSecretName: 'aws' }, { pachAuthSecretName: 'pach' }, { path: '/x' }),
    manager('other', { awsCredentialsSecretName: 'other' }),
  ]

  test('that exist are listed with the Secrets of their sources', () => {
    expect(dependencies(app, { managers, served: [volumeManagers.kind] })).toEqual([
      'Secret shop/aws',
      'Secret shop/pach',
      'VolumeManager shop/sales',
    ])
  })

  test('are listed with the ServiceAccounts whose roles they use', () => {
    const [sales] = [manager('sales', {})]
    const [config] = sales?.spec.volumeConfigs ?? []
    const withRole = { ...sales, spec: { volumeConfigs: [{ ...config, mover: { serviceAccountName: 'reader' } }] } }

    expect(dependencies(app, { managers: [withRole as VolumeManager], served: [volumeManagers.kind] })).toEqual([
      'ServiceAccount shop/reader',
      'VolumeManager shop/sales',
    ])
  })

  test('are not listed, with their Secrets, if no member serves the kind', () => {
    expect(dependencies(app, { managers, served: [dataSourceClaims.kind] })).toEqual([])
  })
})

describe('claims for data', () => {
  const app = workload({})

  test('are listed if a member serves the kind', () => {
    const claims = [claim('b'), claim('a')]
    expect(dependencies(app, { claims, served: [dataSourceClaims.kind] })).toEqual([
      'DataSourceClaim shop/a',
      'DataSourceClaim shop/b',
    ])
    expect(dependencies(app, { claims, served: [volumeManagers.kind] })).toEqual([])
  })

  test('of another namespace are not listed', () => {
    const claims = [claim('theirs', 'other'), claim('ours')]
    expect(dependencies(app, { claims, served: [dataSourceClaims.kind] })).toEqual(['DataSourceClaim shop/ours'])
  })

  test('of any namespace are listed for a cluster-scoped workload', () => {
    const volume = interpretWorkload(
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'pv' },
        spec: { csi: { nodeStageSecretRef: { name: 's', namespace: 'storage' } } },
      } as K8sObject,
      SHIPPED_KINDS,
    )
    expect(dependencies(volume, { claims: [claim('any', 'other')], served: [dataSourceClaims.kind] })).toEqual([
      'DataSourceClaim other/any',
      'Secret storage/s',
    ])
  })
})

describe('objects that each cluster creates for itself are no dependencies', () => {
  const CA = 'kube-root-ca.crt'
  const TOKEN = 'default-token-x7k2p'
  const volume = (source: object) => ({ containers: [], volumes: [{ name: 'v', ...source }] })
  const container = (part: object) => ({ containers: [{ name: 'c', ...part }] })
  const { isNeverPropagated } = buildWorkloadKinds([], [], [{ kind: 'NetworkPolicy', name: 'own' }])

  test.each<[string, object]>([
    ['a projected volume', volume({ projected: { sources: [{ configMap: { name: CA } }] } })],
    ['a volume', volume({ configMap: { name: CA } })],
    ['the environment', container({ envFrom: [{ configMapRef: { name: CA } }] })],
    ['a variable', container({ env: [{ name: 'CA', valueFrom: { configMapKeyRef: { name: CA, key: 'ca.crt' } } }] })],
    ['an init container', { initContainers: [{ name: 'i', envFrom: [{ configMapRef: { name: CA } }] }] }],
    ['a volume with a token', volume({ secret: { secretName: TOKEN } })],
    ['imagePullSecrets', { containers: [], imagePullSecrets: [{ name: 'default-dockercfg-x7k2p' }] }],
    ['serviceAccountName', { containers: [], serviceAccountName: 'default' }],
  ])('if %s of a pod names it', (_name, spec) => {
    expect(dependencies(workload({ spec }))).toEqual([])
  })

  test('if a field of a kind names it', () => {
    const spec = { sparkConfigMap: CA, imagePullSecrets: [TOKEN], driver: { serviceAccount: 'default' } }
    const metadata = { name: 'app', namespace: 'shop' }
    const app = { apiVersion: 'sparkoperator.k8s.io/v1beta2', kind: 'SparkApplication', metadata, spec }
    expect(dependencies(interpretWorkload(app, SHIPPED_KINDS))).toEqual([])
  })

  test('if lodestone.dev/depends-on names it; the other items stay', () => {
    const items = [
      { kind: 'ConfigMap', name: CA },
      { kind: 'ConfigMap', name: 'settings' },
    ]
    const annotations = { 'lodestone.dev/depends-on': JSON.stringify(items) }
    const metadata = { name: 'app', namespace: 'shop', annotations }
    expect(
      dependencies(interpretWorkload({ apiVersion: 'apps/v1', kind: 'Deployment', metadata }, SHIPPED_KINDS)),
    ).toEqual(['ConfigMap shop/settings'])
  })

  test('if another dependency names it', () => {
    const around = {
      accounts: [account('sa', TOKEN, 'pull')],
      services: [service('web', { app: 'x' })],
      ingresses: [ingress('site', 'web', TOKEN)],
      managers: [manager('sales', { awsCredentialsSecretName: TOKEN })],
      served: [volumeManagers.kind],
    }
    const app = workload({ labels: { app: 'x' }, volumes: '{"name":"sales"}', spec: { serviceAccountName: 'sa' } })
    expect(dependencies(app, around)).toEqual([
      'Ingress shop/site',
      'Secret shop/pull',
      'Service shop/web',
      'ServiceAccount shop/sa',
      'VolumeManager shop/sales',
    ])
  })

  test('if it relates to the workload, and the configuration lists it', () => {
    const enabled = buildRelatedKinds({ related: ['NetworkPolicy'], relatedKinds: [] })
    const related = ['own', 'other'].map((name) => {
      const metadata = { name, namespace: 'shop' }
      const raw = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: { podSelector: {} } }
      return { ...raw, relations: relationsOf(raw, enabled[0] as never) }
    })
    const found = interpretDependencies(workload({ labels: { app: 'x' } }), {
      ...surroundedBy({ related }),
      isNeverPropagated,
    })
    expect(found.map(({ name }) => name)).toEqual(['other'])
  })
})

test('a workload never depends on itself', () => {
  const site = {
    ...ingress('site', 'web', 'cert'),
    dependencies: { ...workload({ labels: { app: 'x' } }).dependencies },
  }
  const around = { services: [service('web', { app: 'x' })], ingresses: [ingress('site', 'web', 'cert')] }
  expect(dependencies(site, around)).toEqual(['Secret shop/cert', 'Service shop/web'])
})

test('an object that is not cached yet does not count as absent', () => {
  const unknown = new Error('not read yet')
  const related: RelatedObjects = {
    ...NOTHING_RELATED,
    servicesFor: () => {
      throw unknown
    },
  }
  expect(() => interpretDependencies(workload({ labels: { app: 'x' } }), related)).toThrow(unknown)
})

describe('the ServiceAccount default', () => {
  const around = { accounts: [account('default', 'registry'), account('runner', 'other')] }

  test.each([
    ['that a pod does not name', {}],
    ['that a pod names', { serviceAccountName: 'default' }],
    ['that a pod names with an empty text', { serviceAccountName: '' }],
  ])('%s adds its pull Secrets, but not itself', (_name, spec) => {
    expect(dependencies(workload({ spec: { containers: [{ name: 'main' }], ...spec } }), around)).toEqual([
      'Secret shop/registry',
    ])
  })

  test('adds nothing to pods of another account', () => {
    const spec = { containers: [{ name: 'main' }], serviceAccountName: 'runner' }
    expect(dependencies(workload({ spec }), around)).toEqual(['Secret shop/other', 'ServiceAccount shop/runner'])
  })

  test('adds nothing to a part of a pod spec, whose account is not known', () => {
    expect(dependencies(workload({ spec: { nodeName: 'n' } }), around)).toEqual([])
  })

  test('is an index key of the workload, so that a change of its Secrets is noticed', () => {
    const keys = referenceKeys(workload({ spec: { containers: [{ name: 'main' }] } }))
    expect(keys).toEqual(['v1/ServiceAccount/shop/default'])
  })
})

describe('a StatefulSet', () => {
  const statefulSet = (spec: object): Workload =>
    interpretWorkload(
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'web', namespace: 'shop' },
        spec: { template: { metadata: { labels: { app: 'web' } }, spec: {} }, ...spec },
      } as K8sObject,
      SHIPPED_KINDS,
    )

  test.each([
    { kind: 'LLMInferenceService', path: (tier: object) => ({ kvCacheOffloading: { secondary: [tier] } }) },
    {
      kind: 'LLMInferenceService',
      path: (tier: object) => ({ prefill: { kvCacheOffloading: { secondary: [tier] } } }),
    },
    { kind: 'LLMInferenceServiceConfig', path: (tier: object) => ({ kvCacheOffloading: { secondary: [tier] } }) },
  ])('of KServe, a $kind needs the claims of its cache of keys and values', ({ kind, path }) => {
    const workload = (pvc: object) =>
      interpretWorkload(
        {
          apiVersion: 'serving.kserve.io/v1alpha2',
          kind,
          metadata: { name: 'chat', namespace: 'ns' },
          spec: path({ fileSystem: { pvc } }),
        } as K8sObject,
        SHIPPED_KINDS,
      )
    const named = workload({ ref: { name: 'cache' } })
    const cloned = workload({ spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'warm' } } })

    expect(named.dependencies.references.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'PersistentVolumeClaim cache',
    ])
    expect(cloned.dependencies.furtherReferences).toMatchObject([{ kind: 'PersistentVolumeClaim', name: 'warm' }])
  })

  test('of a JobSet needs the claims that the templates of its policies clone', () => {
    const dataSource = { kind: 'PersistentVolumeClaim', name: 'golden' }
    const spec = { volumeClaimPolicies: [{ templates: [{ metadata: { name: 'data' }, spec: { dataSource } }] }] }
    const metadata = { name: 'app', namespace: 'shop' }
    const jobs = interpretWorkload(
      {
        apiVersion: 'jobset.x-k8s.io/v1alpha2',
        kind: 'JobSet',
        metadata,
        spec,
      } as K8sObject,
      SHIPPED_KINDS,
    )
    expect(dependencies(jobs)).toEqual(['PersistentVolumeClaim shop/golden'])
  })

  test('needs the claims that its claim templates clone', () => {
    const clone = (dataSource: object) => ({ metadata: { name: 'data' }, spec: { dataSource } })
    const volumeClaimTemplates = [
      clone({ kind: 'PersistentVolumeClaim', name: 'golden' }),
      { metadata: { name: 'logs' }, spec: { dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'archive' } } },
      clone({ kind: 'VolumeSnapshot', apiGroup: 'snapshot.storage.k8s.io', name: 'snapshot' }),
      { metadata: { name: 'plain' }, spec: {} },
    ]
    expect(dependencies(statefulSet({ volumeClaimTemplates }))).toEqual([
      'PersistentVolumeClaim shop/archive',
      'PersistentVolumeClaim shop/golden',
    ])
  })

  test.each([
    ['its first pod', { 'statefulset.kubernetes.io/pod-name': 'web-0' }, true],
    ['any of its pods, with another label', { app: 'web', 'statefulset.kubernetes.io/pod-name': 'web-7' }, true],
    ['a pod by its index', { app: 'web', 'apps.kubernetes.io/pod-index': '0' }, true],
    ['a pod of another workload', { 'statefulset.kubernetes.io/pod-name': 'webserver-0' }, false],
    ['one of its pods, but with another label', { app: 'x', 'statefulset.kubernetes.io/pod-name': 'web-0' }, false],
  ])('and a Service that selects %s', (_name, selector, isDependency) => {
    const around = { services: [service('one', withoutOrdinals(selector))] }
    expect(dependencies(statefulSet({}), around)).toEqual(isDependency ? ['Service shop/one'] : [])
  })
})

describe('an object of an enabled kind', () => {
  const enabled = buildRelatedKinds({ related: RELATED_KIND_NAMES, relatedKinds: [] })
  const object = (kind: string, spec: object, rest: object = {}): RelatedObject => {
    const found = enabled.find(({ type }) => type.kind === kind)
    if (!found) throw new Error(`${kind} is not in the table`)
    const raw = {
      apiVersion: apiVersionOf(found.type),
      kind,
      metadata: { name: 'one', namespace: 'shop' },
      spec,
      ...rest,
    }
    return { apiVersion: raw.apiVersion, kind, metadata: raw.metadata, relations: relationsOf(raw, found) }
  }
  const pod = { labels: { app: 'x' }, spec: { containers: [{ name: 'main' }], serviceAccountName: 'runner' } }
  const web = service('web', { app: 'x' })
  const labeled = { ...web, metadata: { ...web.metadata, labels: { team: 'a' } } }
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }
  const subject = { kind: 'ServiceAccount', name: 'runner' }

  test.each<[string, RelatedObject, boolean]>([
    ['that scales the workload', object('HorizontalPodAutoscaler', { scaleTargetRef }), true],
    [
      'that scales another one',
      object('HorizontalPodAutoscaler', { scaleTargetRef: { ...scaleTargetRef, name: 'y' } }),
      false,
    ],
    [
      'that scales another kind of the name',
      object('HorizontalPodAutoscaler', { scaleTargetRef: { ...scaleTargetRef, apiVersion: 'example.com/v1' } }),
      false,
    ],
    ['that selects its pods', object('PodDisruptionBudget', { selector: { matchLabels: { app: 'x' } } }), true],
    ['that selects other pods', object('PodDisruptionBudget', { selector: { matchLabels: { app: 'y' } } }), false],
    ['that selects all pods', object('NetworkPolicy', { podSelector: {} }), true],
    [
      'that selects by expressions',
      object('NetworkPolicy', { podSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } }),
      true,
    ],
    ['that selects its Service', object('ServiceMonitor', { selector: { matchLabels: { team: 'a' } } }), true],
    ['that selects another Service', object('ServiceMonitor', { selector: { matchLabels: { team: 'b' } } }), false],
    [
      'that routes to its Service',
      object('HTTPRoute', { rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] }),
      true,
    ],
    [
      'that routes to a Service of another namespace',
      object('HTTPRoute', { rules: [{ backendRefs: [{ name: 'web', namespace: 'other' }] }] }),
      false,
    ],
    [
      'that binds its ServiceAccount',
      object('RoleBinding', {}, { subjects: [{ ...subject, namespace: 'shop' }] }),
      true,
    ],
    ['that binds a user', object('RoleBinding', {}, { subjects: [{ kind: 'User', name: 'runner' }] }), false],
    ['of a shape of its own', object('PodDisruptionBudget', { selector: 'x' }), false],
  ])('%s', (_name, related, isDependency) => {
    const found = dependencies(workload(pod), { services: [labeled], related: [related] })
    const expected = [
      'Service shop/web',
      'ServiceAccount shop/runner',
      ...(isDependency ? [`${related.kind} shop/one`] : []),
    ]
    expect(found.sort()).toEqual(expected.sort())
  })

  test('that binds the ServiceAccount default follows pods that name none', () => {
    const related = [object('RoleBinding', {}, { subjects: [{ kind: 'ServiceAccount', name: 'default' }] })]
    expect(dependencies(workload({ spec: { containers: [] } }), { related })).toEqual(['RoleBinding shop/one'])
  })

  test.each([
    {
      name: 'a volume of a pod',
      spec: { volumes: [{ name: 's', csi: { driver: 'd', volumeAttributes: { secretProviderClass: 'vault' } } }] },
      want: ['SecretProviderClass shop/vault'],
    },
    {
      name: 'a claim of devices',
      spec: {
        resourceClaims: [
          { name: 'each', resourceClaimTemplateName: 'gpu' },
          { name: 'shared', resourceClaimName: 'disk' },
        ],
      },
      want: ['ResourceClaim shop/disk', 'ResourceClaimTemplate shop/gpu'],
    },
  ])('that $name names', ({ spec, want }) => {
    const raw = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'app', namespace: 'shop' },
      spec: { template: { spec } },
    }
    expect(dependencies(interpretWorkload(raw, buildWorkloadKinds([], enabled)))).toEqual(want)
    expect(dependencies(interpretWorkload(raw, SHIPPED_KINDS))).toEqual([])
  })
})

test('objects that the annotation declares are dependencies, unless it is invalid', () => {
  const withAnnotation = (text: string) =>
    interpretWorkload(
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'app', namespace: 'shop', annotations: { 'lodestone.dev/depends-on': text } },
      } as K8sObject,
      SHIPPED_KINDS,
    )
  expect(dependencies(withAnnotation('[{"kind":"Secret","name":"a"},{"kind":"ConfigMap","name":"b"}]'))).toEqual([
    'ConfigMap shop/b',
    'Secret shop/a',
  ])
  expect(dependencies(withAnnotation('[{"kind":"Secret"}]'))).toEqual([])
})
