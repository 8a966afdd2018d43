import { expect, test, vi } from 'vitest'
import { makeObject } from '../../test/builders.ts'
import type { K8sObject, ResourceType } from '../api/meta.ts'
import { defined } from '../base/json.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import { buildWorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { buildRelatedKinds, RELATED_KIND_NAMES } from '../core/workload-kinds/related-kinds.ts'
import { openFolderStore } from '../store/folder/folder.ts'
import { allKinds } from '../store/kinds/cached-kinds.ts'
import { dependentType, workloadsAround } from './dependents.ts'
import { relatedTypes, relationTargets } from './relations.ts'

const kinds = buildWorkloadKinds([], buildRelatedKinds({ related: RELATED_KIND_NAMES, relatedKinds: [] }))

const labels = { app: 'web' }
const containers = [{ name: 'main' }]
const deployment = (name: string, serviceAccountName?: string) =>
  makeObject('apps/v1', 'Deployment', name, {
    spec: {
      template: {
        metadata: { labels },
        spec: defined({ containers, serviceAccountName: serviceAccountName || undefined }),
      },
    },
  })
const service = makeObject('v1', 'Service', 'web', {
  metadata: { name: 'web', namespace: 'default', labels: { team: 'a' } },
  spec: { selector: labels },
})

async function storeWith(...objects: K8sObject[]) {
  const store = openFolderStore({ kinds: allKinds(kinds) })
  await store.start(new AbortController().signal)
  for (const object of objects) {
    const type = store.kinds().find(({ kind, group }) => kind === object.kind && object.apiVersion.startsWith(group))
    if (!type) throw new Error(`${object.kind} is not cached`)
    await store.create(type, object)
  }
  return store
}

test.each<[string, K8sObject, string[]]>([
  [
    'names',
    makeObject('autoscaling/v2', 'HorizontalPodAutoscaler', 'one', {
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' } },
    }),
    ['app'],
  ],
  [
    'selects',
    makeObject('policy/v1', 'PodDisruptionBudget', 'one', { spec: { selector: { matchLabels: labels } } }),
    ['app', 'bound'],
  ],
  [
    'reaches by a Service',
    makeObject('gateway.networking.k8s.io/v1', 'HTTPRoute', 'one', {
      spec: { rules: [{ backendRefs: [{ name: 'web' }] }] },
    }),
    ['app', 'bound'],
  ],
  [
    'reaches by a Service that it selects',
    makeObject('monitoring.coreos.com/v1', 'ServiceMonitor', 'one', {
      spec: { selector: { matchLabels: { team: 'a' } } },
    }),
    ['app', 'bound'],
  ],
  [
    'reaches by a ServiceAccount',
    makeObject('rbac.authorization.k8s.io/v1', 'RoleBinding', 'one', {
      subjects: [{ kind: 'ServiceAccount', name: 'sa' }],
    }),
    ['bound'],
  ],
  ['relates to', makeObject('rbac.authorization.k8s.io/v1', 'Role', 'one', { rules: [] }), []],
])('the workloads that a related object %s are found', async (_verb, related, want) => {
  const store = await storeWith(deployment('app'), deployment('bound', 'sa'), service, related)
  const type = dependentType(related, store)
  expect(relatedTypes(store)).toContain(type)
  const cached = type && store.get(type, 'default', 'one')
  expect(cached && [...workloadsAround(cached, store)].map(({ metadata }) => metadata.name).sort()).toEqual(want)
})

test.each([
  { selector: { matchLabels: labels }, lists: 0 },
  { selector: {}, lists: 1 },
])('a selector $selector compares all workloads $lists times', async ({ selector, lists }) => {
  const disruptionBudget = makeObject('policy/v1', 'PodDisruptionBudget', 'one', { spec: { selector } })
  const store = await storeWith(deployment('app'), disruptionBudget)
  const type = dependentType(disruptionBudget, store)
  const cached = type && store.get(type, 'default', 'one')
  const list = vi.spyOn(store, 'list')
  const deployments = kinds.all.filter(({ type: { kind } }) => kind === 'Deployment').map((kind) => kind.type)
  const found = cached && relationTargets(cached, deployments as ResourceType<Workload>[], store).workloads
  expect(found?.map(({ metadata }) => metadata.name)).toEqual(['app'])
  expect(list).toHaveBeenCalledTimes(lists)
})
