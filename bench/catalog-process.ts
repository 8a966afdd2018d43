/** A data system that speaks like Amoro, as a child: tables, the clusters that hold them in turn, and the ms that an answer takes. */
import { startAmoroServer } from '../test/e2e/amoro-server.ts'
import { clusterOf, tableOf } from './fleet.ts'

const tables = Number(process.argv[2])
const locations = Array.from({ length: tables }, (_, i) => [tableOf(i, tables), `s3://${clusterOf(i)}/lake/table_${i}`])
const server = await startAmoroServer(Object.fromEntries(locations))
server.delayMs = Number(process.argv[3])
process.on('message', () => process.send?.(server.questions))
// The one who measures is gone, however it ended.
process.on('disconnect', () => process.exit())
process.send?.(server.port)
