/** Starts the server again with a heap limit that follows from the memory limit of its container. */
import { totalmem } from 'node:os'
import { oldSpaceMib, SEMI_SPACE_MIB } from '../../core/memory.ts'
import { parseBytes } from '../../core/quantity.ts'

/** Where no control group limits the memory, this says how much there is, as `512Mi`. */
const LIMIT_VARIABLE = 'LODESTONE_MEMORY_LIMIT'

/**
 * How glibc keeps memory: large buffers are given back when they are freed, and threads share two arenas. With its defaults, bodies of
 * megabytes fragment the heap of C, which then stays 50 MiB larger (mallopt(3)).
 */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_ARENA_MAX: '2' }

/** Bytes that the process may use; undefined when nothing limits it. Node reads the control group, of version 1 or 2. */
export function containerBytes(env: NodeJS.ProcessEnv): number | undefined {
  const given = env[LIMIT_VARIABLE]
  if (given !== undefined) {
    const bytes = parseBytes(given)
    if (bytes === undefined) throw new Error(`${LIMIT_VARIABLE}: Invalid value: ${given}; write bytes, as 512Mi`)
    return bytes
  }
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : undefined
}

/**
 * Replaces this process by one with a heap limit: V8 takes it at the start only. Does nothing where nothing limits the memory, and where
 * the heap limit was given. The process id stays.
 */
export function limitHeap(): void {
  const bytes = containerBytes(process.env)
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  if (bytes === undefined || /--max[-_]old[-_]space[-_]size/.test(given)) return
  const flags = [`--max-old-space-size=${oldSpaceMib(bytes)}`, `--max-semi-space-size=${SEMI_SPACE_MIB}`]
  process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)], {
    ...ALLOCATOR,
    ...process.env,
  })
}
