/** Leaves out of an explanation what a reader may not read. */
import { groupOf, type ResourceType, resourceWord } from '../../../api/meta.ts'
import type { TreeNode } from '../../explain/tree.ts'
import { typeOfReference } from '../../kinds.ts'
import type { Viewer } from './viewer.ts'

/** Whether a reader may read an object: all of its kind, those of its namespace, or it alone. */
export async function mayRead(
  viewer: Viewer,
  type: ResourceType,
  { namespace, name }: { namespace?: string | undefined; name: string },
): Promise<boolean> {
  if (await viewer.may('list', type)) return true
  if (namespace !== undefined && (await viewer.may('list', type, { namespace }))) return true
  return viewer.may('get', type, { namespace, name })
}

/** Each object may need a question to the API server. */
const MAX_OBJECTS = 200

/**
 * Returns the tree without the objects that the reader may not read, and what is below them.
 *
 * @param known the kinds whose plural is known
 */
export async function visibleTree(tree: TreeNode, viewer: Viewer, known: readonly ResourceType[]): Promise<TreeNode> {
  let asked = 0

  async function visible(node: TreeNode): Promise<TreeNode> {
    const { kind, apiVersion, namespace, name, children } = node
    if (kind !== undefined && name !== undefined) {
      const type = typeOf({ kind, apiVersion })
      asked += 1
      if (asked > MAX_OBJECTS) return { text: `${kind}: not shown, since an answer has at most ${MAX_OBJECTS} objects` }
      if (!type || !(await mayRead(viewer, type, { namespace, name })))
        return { text: `${kind}: not shown, since you may not get ${type ? resourceWord(type) : 'it'}` }
    }
    if (!children) return node
    const shown: TreeNode[] = []
    // One after the other, since most of them have the kind of the one before.
    for (const child of children) shown.push(await visible(child))
    return { ...node, children: shown }
  }

  function typeOf({ kind, apiVersion }: { kind: string; apiVersion: string | undefined }): ResourceType | undefined {
    const group = apiVersion === undefined ? undefined : groupOf(apiVersion)
    const named = known.find((type) => type.kind === kind && (group === undefined || type.group === group))
    return named ?? (apiVersion === undefined ? undefined : typeOfReference({ kind, apiVersion }))
  }

  return visible(tree)
}
