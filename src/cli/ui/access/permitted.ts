/** What a reader may ask besides lists: explanations, locations, checks, the history and the installation. */
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { events } from '../../../api/event.ts'
import { clusters } from '../../../api/karmada.ts'
import { type ObjectReference, type ResourceType, resourceWord } from '../../../api/meta.ts'
import { mutatingWebhookConfigurations, REGISTRATION_NAME } from '../../../api/registration.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import { explainTargets, type NamedObject } from '../../explain/explain-named.ts'
import { type Context, makeTarget, referencedTarget } from '../../explain/target.ts'
import { treeData } from '../../explain/tree.ts'
import { knownKinds, typesNamed } from '../../kinds.ts'
import { type LocateAnswer, type LocateQuestion, locate } from '../questions/locate.ts'
import { mayNotList, otherNamespace, type Rejection, type Viewer } from './viewer.ts'
import { mayRead, visibleTree } from './visible-tree.ts'

type Permitted<Answer> = (Answer & { rejection?: never }) | { rejection: Rejection; object?: never; answer?: never }

/**
 * Explains an object that the reader may read, without the objects that it may not read. Throws `UsageError` for a kind without explanation.
 */
export async function explainFor(
  viewer: Viewer,
  named: NamedObject,
  context: Context,
): Promise<Permitted<{ object: object }>> {
  const targets = typesNamed(named.kind, context).map((type) => makeTarget(type, named.namespace, named.name))
  const rights = await Promise.all(targets.map((target) => mayRead(viewer, target.type, target)))
  // A word may mean kinds of several projects, of which a reader has one.
  const permitted = targets.filter((_, i) => rights[i])
  const [denied] = targets
  if (denied && permitted.length === 0) {
    const place = denied.namespace === undefined ? '' : ` in namespace ${denied.namespace}`
    return { rejection: { status: 403, message: `you may not get ${resourceWord(denied.type)} ${named.name}${place}` } }
  }
  const { tree, problem } = await explainTargets(permitted, context)
  if (tree) return { object: treeData(await visibleTree(tree, viewer, knownKinds(context.kinds))) }
  // The sentence names similar objects, and other namespaces.
  const seesAll = await Promise.all(targets.map(({ type }) => viewer.may('list', type)))
  const message = seesAll.every(Boolean) ? problem : `${named.kind} ${named.namespace}/${named.name} not found`
  return { rejection: { status: 404, message } }
}

/**
 * Locates a workload that the reader may read, with the claims and VolumeManagers that place it. Claims need not exist: a reader who may create
 * them would learn the same. A reader who may not list clusters sees those with data.
 */
export async function locateFor(
  viewer: Viewer,
  question: LocateQuestion,
  context: Context,
): Promise<Permitted<{ answer: LocateAnswer }>> {
  const given = question.workload
    ? await workloadRejection(viewer, question.workload, context)
    : await claimsRejection(
        viewer,
        question.claims.map(({ metadata }) => metadata?.namespace ?? 'default'),
      )
  if (given) return { rejection: given }
  const { answer, problems } = await locate(question, context)
  if (problems) return { rejection: { status: 422, message: problems.slice(0, 20).join('; ') } }
  const data = question.workload ? await dataRejection(viewer, answer, context) : undefined
  if (data) return { rejection: data }
  if (await viewer.may('list', clusters)) return { answer }
  // The costs tell where clusters are.
  const visible = answer.clusters.filter(({ has }) => has.length > 0).map(({ transfer: _, ...row }) => row)
  return { answer: { ...answer, clusters: visible } }
}

async function workloadRejection(
  viewer: Viewer,
  workload: ObjectReference,
  { kinds }: Context,
): Promise<Rejection | undefined> {
  const { type, namespace, name } = referencedTarget(workload, kinds)
  if (await mayRead(viewer, type, { namespace, name })) return undefined
  return mayNotList(type, namespace)
}

/** Claims of another namespace may name a workload too. */
async function dataRejection(
  viewer: Viewer,
  { claims }: LocateAnswer,
  { store }: Context,
): Promise<Rejection | undefined> {
  for (const { claim } of claims) {
    const [namespace = '', name = ''] = claim.split('/')
    const kind = store.get(dataSourceClaims, namespace, name) ? dataSourceClaims : volumeManagers
    if (!(await mayRead(viewer, kind, { namespace, name }))) return mayNotList(kind, namespace)
  }
  return undefined
}

async function claimsRejection(viewer: Viewer, namespaces: readonly string[]): Promise<Rejection | undefined> {
  for (const namespace of new Set(namespaces)) {
    if (!(await viewer.may('create', dataSourceClaims, { namespace }))) {
      const message = `you may not create ${resourceWord(dataSourceClaims)} in namespace ${namespace}; ask an administrator for this right`
      return { status: 403, message }
    }
  }
  return undefined
}

/** The installation is for those who may read the registration. */
export async function serverRejection(viewer: Viewer): Promise<Rejection | undefined> {
  if (await viewer.may('get', mutatingWebhookConfigurations, { name: REGISTRATION_NAME })) return undefined
  const what = `${resourceWord(mutatingWebhookConfigurations)} ${REGISTRATION_NAME}`
  return { status: 403, message: `you may not get ${what}; ask an administrator for this right` }
}

/** The history is that of Events. */
export async function historyRejection(viewer: Viewer, namespace: string | undefined): Promise<Rejection | undefined> {
  const other = otherNamespace(viewer, namespace)
  if (other) return other
  if (await viewer.may('list', events, { namespace })) return undefined
  return mayNotList(events, namespace)
}

/**
 * A check or a supposition tells of objects in any namespace, so the reader needs the rights to list all that decisions read.
 *
 * @param cached the kinds that the page caches and the API server has
 */
export async function checkRejection(viewer: Viewer, cached: readonly ResourceType[]): Promise<Rejection | undefined> {
  if (viewer.namespace !== undefined)
    return { status: 403, message: 'a check reads all namespaces; start lodestone ui without -n' }
  const rights = await Promise.all(cached.map((kind) => viewer.may('list', kind)))
  const denied = cached.find((_, i) => !rights[i])
  return denied && mayNotList(denied)
}
