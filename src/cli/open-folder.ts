/** Opens a folder of manifests for a command: with the kinds that decisions read, and the checks that admission makes. */

import { type FolderStore, type FolderStoreInput, openFolderStore } from '../store/folder/folder.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'
import { validateManifest } from './check/validate-manifest.ts'
import { UsageError } from './command.ts'

/** A folder that is not there is a mistyped word: throws `UsageError`. Without a directory the store is empty. */
export function openFolder(
  directory: string | undefined,
  options: Pick<FolderStoreInput, 'observer' | 'watch'>,
): FolderStore {
  try {
    return openFolderStore({
      ...options,
      ...(directory !== undefined && { directory }),
      kinds: cachedKinds,
      validate: validateManifest,
    })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}
