/** The bindings that Karmada would create for the workloads of a folder. */
import { bindingTypeIn } from '../api/karmada.ts'
import type { FolderStore } from '../store/folder/folder.ts'
import { allKinds } from '../store/kinds/cached-kinds.ts'
import { OverlayStore } from '../store/overlay-store.ts'
import type { ObjectStore } from '../store/store.ts'
import type { ReviewSettings } from './check/review/review-object.ts'
import { predict } from './status/holds.ts'

/**
 * Returns the objects of a folder with these bindings, since no controller writes them there. Admission would decide on them by
 * these settings. Throws when the signal aborts.
 */
export async function withFolderBindings(
  folder: FolderStore,
  settings: ReviewSettings,
  signal: AbortSignal,
): Promise<ObjectStore> {
  const { allBindings } = await predict(folder, settings, signal)
  const store = new OverlayStore(folder, allKinds(settings.workloads))
  for (const binding of allBindings) store.put(bindingTypeIn(binding.metadata.namespace), binding)
  return store
}
