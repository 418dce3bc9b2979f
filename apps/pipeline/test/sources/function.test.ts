import { conforms } from './conformance.ts'
import { addressedFunction } from './function.scene.ts'

conforms(addressedFunction)
