/** Opens a folder of manifests for a command, with the cached kinds and the validation of admission. */
import { defined } from '../base/json.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { type FolderStore, type FolderStoreInput, openFolderStore } from '../store/folder/folder.ts'
import { allKinds } from '../store/kinds/cached-kinds.ts'
import { validateManifest } from './check/input/validate-manifest.ts'
import { UsageError } from './command.ts'

/** Throws `UsageError` if the folder does not exist. Without a directory the store is empty. */
export function openFolder(
  directory: string | undefined,
  {
    workloads,
    kinds = allKinds(workloads),
    ...options
  }: Pick<FolderStoreInput, 'observer' | 'watch'> &
    Partial<Pick<FolderStoreInput, 'kinds'>> & { workloads: WorkloadKinds },
): FolderStore {
  try {
    return openFolderStore({
      ...options,
      ...defined({ directory }),
      kinds,
      validate: validateManifest,
    })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}
