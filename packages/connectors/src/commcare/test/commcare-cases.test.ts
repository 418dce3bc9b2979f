import { commcareCases } from './commcare-stand-in.ts'
import { conforms } from '../../../test/conformance.ts'

conforms(commcareCases)
