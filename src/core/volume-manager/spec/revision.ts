/** What decides what the bytes of a volume are: when any of it changes, the data is other data. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { fnv1a } from '../../hash.ts'
import { shardNames } from './distribution.ts'
import { sourceTypeOf } from './source-types.ts'

/**
 * A digest of the source, and of how the data is divided: not of how many copies there are, how they are placed, or who may read them.
 * The directory is part of it, since data in another directory is another copy.
 */
export function revisionOf(config: VolumeConfig): string {
  const { options = {} } = config
  const names = [...sourceTypeOf(config.sourceType).contentOptions, 'dataPath']
  const content = names.map((name) => [name, options[name] ?? ''])
  return fnv1a(JSON.stringify([sourceTypeOf(config.sourceType).name, content, shardNames(config)]))
}
