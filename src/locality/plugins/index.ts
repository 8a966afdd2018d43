/** The table of plugins. A new data system needs its own file and a line here. */
import type { SystemDefinition } from '../config/config.ts'
import { amoro } from './amoro.ts'
import { hiveMetastore } from './hive-metastore.ts'
import { icebergRest } from './iceberg-rest.ts'
import { s3 } from './s3.ts'
import { staticSystem } from './static.ts'
import { webhdfs } from './webhdfs.ts'

export const plugins: Readonly<Record<string, SystemDefinition>> = {
  amoro,
  'hive-metastore': hiveMetastore,
  'iceberg-rest': icebergRest,
  s3,
  static: staticSystem,
  webhdfs,
}
