/** Writes the URLs of the modules that a process loads into the file MODULE_REPORT, one a line. Loaded with `node --import`. */
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const urls: string[] = []

registerHooks({
  load(url, context, nextLoad) {
    urls.push(url)
    return nextLoad(url, context)
  },
})

process.on('exit', () => writeFileSync(process.env['MODULE_REPORT'] ?? '', urls.join('\n')))
