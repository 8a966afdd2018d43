/** Explanations and locations, with the rights of a reader. */
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { clusters } from '../../../api/karmada.ts'
import { resourceWord } from '../../../api/meta.ts'
import { explainNamed, type NamedObject, typesNamed } from '../../explain/explain-named.ts'
import { type Context, makeTarget, type Reference, referencedTarget } from '../../explain/target.ts'
import { treeData } from '../../explain/tree.ts'
import { knownKinds } from '../../kinds.ts'
import { type LocateAnswer, type LocateQuestion, locate } from '../locate.ts'
import { mayNotList, type Rejection, type Viewer } from './viewer.ts'
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
  const denied = targets.find((_, i) => !rights[i])
  if (denied) {
    const place = denied.namespace === undefined ? '' : ` in namespace ${denied.namespace}`
    return { rejection: { status: 403, message: `you may not get ${resourceWord(denied.type)} ${named.name}${place}` } }
  }
  const { tree, problem } = await explainNamed(named, context)
  if (tree) return { object: treeData(await visibleTree(tree, viewer, knownKinds(context.kinds))) }
  // The sentence names similar objects, and other namespaces.
  const seesAll = await Promise.all(targets.map(({ type }) => viewer.may('list', type)))
  const message = seesAll.every(Boolean) ? problem : `${named.kind} ${named.namespace}/${named.name} not found`
  return { rejection: { status: 404, message } }
}

/**
 * Locates a workload that the reader may read, or claims that it may create: their creation would tell the same. A reader who may not list
 * clusters sees those with data.
 */
export async function locateFor(
  viewer: Viewer,
  question: LocateQuestion,
  context: Context,
): Promise<Permitted<{ answer: LocateAnswer }>> {
  const rejection = question.workload
    ? await workloadRejection(viewer, question.workload, context)
    : await claimsRejection(
        viewer,
        question.claims.map(({ metadata }) => metadata?.namespace ?? 'default'),
      )
  if (rejection) return { rejection }
  const { answer, problems } = await locate(question, context)
  if (problems) return { rejection: { status: 422, message: problems.slice(0, 20).join('; ') } }
  if (await viewer.may('list', clusters)) return { answer }
  return { answer: { ...answer, clusters: answer.clusters.filter(({ has }) => has.length > 0) } }
}

async function workloadRejection(
  viewer: Viewer,
  workload: Reference,
  { kinds }: Context,
): Promise<Rejection | undefined> {
  const { type, namespace, name } = referencedTarget(workload, kinds)
  if (await mayRead(viewer, type, { namespace, name })) return undefined
  return mayNotList(type, namespace)
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
