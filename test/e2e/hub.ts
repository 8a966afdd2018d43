// The actions of a user on a hub and their results: kubectl in; bindings, policies and the Works of the member clusters out.
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone } from './lodestone.ts'
import { yamlOf } from './manifests.ts'
import type { CommandResult } from './processes.ts'

export interface BindingObject extends KubeObject {
  metadata: KubeObject['metadata'] & {
    finalizers?: string[]
    ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; [field: string]: unknown }[]
  }
  spec: {
    clusters?: { name: string; replicas?: number }[]
    requiredBy?: { namespace?: string; name: string; clusters?: { name: string }[] }[]
    conflictResolution?: string
    preserveResourcesOnDeletion?: boolean
    propagateDeps?: boolean
    [field: string]: unknown
  }
}

export const bindings = 'resourcebindings.work.karmada.io'
export const clusterBindings = 'clusterresourcebindings.work.karmada.io'

export interface Hub {
  kubectl(args: string[], input?: string): Promise<CommandResult>
  // `kubectl apply` of whole manifests, as in a pipeline.
  apply(...objects: KubeObject[]): Promise<CommandResult>
  delete(...objects: KubeObject[]): Promise<void>
  mergePatch(object: KubeObject, patch: object): Promise<CommandResult>
  // As it is stored; undefined when it is gone.
  read(object: KubeObject): Promise<KubeObject | undefined>
  uidOf(object: KubeObject): Promise<unknown>
  // The binding of an object, made by Karmada or by Lodestone.
  bindingOf(object: KubeObject, namespace?: string): Promise<BindingObject | undefined>
  // The members that should have an object, as `member1,member3`, without those that should lose it.
  membersWith(object: KubeObject): Promise<string>
  // The members that ever had an object: no agent executes deletions.
  membersThatEverHad(object: KubeObject): Promise<string>
  // Until these members have it, and no others.
  isOnlyIn(object: KubeObject, members: string): Promise<true>
  // The object as a member is to have it.
  manifestIn(member: string, object: KubeObject): Promise<KubeObject | undefined>
  // Does what members' agents would: deleted Works go. Until then nothing comes back to where it was.
  executeDeletions(): Promise<void>
}

export interface Work extends KubeObject {
  spec: { workload: { manifests: KubeObject[] } }
}

// Starts a control plane with the rights of Lodestone, and with Karmada's distributor of dependencies on or off.
export async function startHub({ propagateDeps }: { propagateDeps: boolean }) {
  const plane = await startControlPlane({
    garbageCollector: true,
    flags: { 'karmada-controller-manager': [`--feature-gates=PropagateDeps=${propagateDeps}`] },
  })
  return { plane, hub: hubOn(plane), kubeconfig: await installLodestone(plane) }
}

export function hubOn(plane: ControlPlane): Hub {
  const kubectl: Hub['kubectl'] = (args, input) => plane.kubectl(args, input === undefined ? {} : { input })
  const works = async () => (await plane.listJson('works.work.karmada.io')) as Work[]
  const holding = async (object: KubeObject) =>
    (await works()).filter(({ spec }) => spec.workload.manifests.some((one) => isSame(one, object)))
  const hub: Hub = {
    kubectl,
    apply: (...objects) => kubectl(['apply', '-f', '-'], yamlOf(...objects)),
    delete: async (...objects) => {
      // Does not wait: some scenarios test what blocks a deletion.
      await kubectl(['delete', '--wait=false', '-f', '-'], yamlOf(...objects))
    },
    mergePatch: ({ apiVersion, kind, metadata }, patch) =>
      kubectl([
        'patch',
        resourceOf(apiVersion, kind),
        metadata.name,
        ...(metadata.namespace ? ['--namespace', metadata.namespace] : []),
        '--type=merge',
        '--patch',
        JSON.stringify(patch),
      ]),
    read: ({ apiVersion, kind, metadata }) =>
      plane.getJson(resourceOf(apiVersion, kind), metadata.name, metadata.namespace),
    uidOf: async (object) => (await hub.read(object))?.metadata['uid'],
    bindingOf: async ({ kind, metadata }, namespace = metadata.namespace) => {
      const name = `${metadata.name}-${kind}`.toLowerCase()
      const found = await plane.getJson(namespace ? bindings : clusterBindings, name, namespace)
      return found as BindingObject | undefined
    },
    membersWith: async (object) => membersOf((await holding(object)).filter(({ metadata }) => !isDeleted(metadata))),
    membersThatEverHad: async (object) => membersOf(await holding(object)),
    isOnlyIn: async (object, members) => {
      const description = `${object.kind} ${object.metadata.name} is in ${members || 'no member'} and nowhere else`
      return plane.eventually(description, async () => {
        const found = await hub.membersWith(object)
        if (found !== members) throw new Error(`it is in ${found || 'none'}`)
        return true as const
      })
    },
    manifestIn: async (member, object) => {
      const found = (await holding(object)).find(
        ({ metadata }) => !isDeleted(metadata) && memberOf(metadata.namespace) === member,
      )
      return found?.spec.workload.manifests.find((one) => isSame(one, object))
    },
    executeDeletions: async () => {
      for (const work of (await works()).filter(({ metadata }) => isDeleted(metadata)))
        await finishDeletion(plane, work)
    },
  }
  return hub
}

/** Where a workload is scheduled, such as `member1,member3`; empty without clusters, and without a binding. */
export function clusterNames(binding: { spec: Pick<BindingObject['spec'], 'clusters'> } | undefined): string {
  const names = (binding?.spec.clusters ?? []).map(({ name }) => name)
  return names.sort().join()
}

/** Does what the agent of a member does when a Work is deleted. */
export async function finishDeletion(plane: ControlPlane, { metadata }: KubeObject): Promise<void> {
  const path = `${await plane.api.collection('works.work.karmada.io', metadata.namespace)}/${metadata.name}`
  await plane.api.request('PATCH', path, { metadata: { finalizers: null } }, 'application/merge-patch+json')
}

function resourceOf(apiVersion: string, kind: string): string {
  const [group, version] = apiVersion.split('/')
  return version === undefined ? kind : `${kind}.${group}`
}

function isSame(one: KubeObject, other: KubeObject): boolean {
  return (
    one.kind === other.kind &&
    one.metadata.name === other.metadata.name &&
    one.metadata.namespace === other.metadata.namespace
  )
}

export function isDeleted(metadata: KubeObject['metadata']): boolean {
  return metadata['deletionTimestamp'] !== undefined
}

function membersOf(works: Work[]): string {
  return [...new Set(works.map(({ metadata }) => memberOf(metadata.namespace)))].sort().join()
}

export function memberOf(namespace = ''): string {
  return namespace.replace(/^karmada-es-/, '')
}
